//! Options of `relayout record kernel` for a program of the user's in the guest.

use std::path::PathBuf;
use std::time::Duration;

use relayout_record::{ProgramWindow, ProgramWork};

use crate::arguments;

/// Options of --run's program and of its window.
#[derive(Debug, clap::Args)]
#[group(multiple = true, requires = "run")]
pub struct ProgramArgs {
    /// Pass this argument to the program; may be given more than once
    #[arg(
        long,
        value_name = "ARG",
        allow_hyphen_values = true,
        conflicts_with = "workload"
    )]
    run_arg: Vec<String>,
    /// Bring this file or folder to the same place in the guest, programs with their libraries; may
    /// be given more than once. A folder larger than the guest's memory comes on a disk
    #[arg(long, value_name = "PATH", conflicts_with = "workload")]
    file: Vec<PathBuf>,
    /// Bring the content of this folder as the guest's root, on a disk if it is larger than the
    /// guest's memory; the program may be one of its files
    #[arg(long, value_name = "DIR", conflicts_with = "workload")]
    root: Option<PathBuf>,
    /// Begin to record this long after the program's start, or after the line of --from-line:
    /// 2s, 500ms
    #[arg(long, value_name = "TIME", value_parser = arguments::time, conflicts_with = "workload")]
    after: Option<Duration>,
    /// Record for this long [default: to the program's end]
    #[arg(long = "for", value_name = "TIME", value_parser = arguments::time, conflicts_with = "workload")]
    length: Option<Duration>,
    /// Begin to record when the program prints a line with this text
    #[arg(long, value_name = "TEXT", conflicts_with = "workload")]
    from_line: Option<String>,
    /// Record until the program prints a line with this text
    #[arg(long, value_name = "TEXT", conflicts_with = "workload")]
    to_line: Option<String>,
}

impl ProgramArgs {
    /// Returns the work of a guest that runs the program at `path`.
    pub fn work(&self, path: PathBuf) -> ProgramWork {
        ProgramWork {
            path,
            arguments: self.run_arg.clone(),
            files: self.file.clone(),
            root: self.root.clone(),
            window: ProgramWindow {
                after: self.after.unwrap_or_default(),
                length: self.length,
                from_line: self.from_line.clone(),
                to_line: self.to_line.clone(),
            },
        }
    }
}
