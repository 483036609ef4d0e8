//! Options for the recorded guest that executes again.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap_complete::ArgValueCandidates;
use relayout_workflows::simulate::GuestChoice;

use crate::{arguments, complete};

/// Recorded guest that executes again.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct RepeatedGuestArgs {
    /// Begin no further window after this time; what was executed is kept, and the same command goes on from there [default:
    /// 1m where CPUs wait for lines, 10m where they wait for locks]
    #[arg(long, value_name = "TIME", value_parser = arguments::time)]
    pub budget: Option<Duration>,
    /// Take the guest's kernel from here: a name, or a folder with boot image and vmlinux [default: the cached one with
    /// the recorded build id; for a program the cached stock kernel]
    #[arg(long, value_name = "NAME|DIR", add = ArgValueCandidates::new(complete::kernels))]
    pub kernel: Option<PathBuf>,
    /// Bring this file or folder to the same place in the guest of a recorded program, programs with their libraries; may
    /// be given more than once
    #[arg(long, value_name = "PATH")]
    pub file: Vec<PathBuf>,
    /// Recorded program with its arguments, which executes again
    #[arg(last = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

impl RepeatedGuestArgs {
    /// Returns what the options say of the guest.
    pub fn guest_choice(&self) -> GuestChoice<'_> {
        GuestChoice {
            program: &self.program,
            files: &self.file,
            kernel: self.kernel.as_deref(),
            ..GuestChoice::default()
        }
    }
}
