//! `relayout record perf`: samples that hardware took.

use std::path::PathBuf;

use relayout_messages::{RecordingProgress as _, UserError};
use relayout_record::perf::{PerfImport, import_perf};
use relayout_report::text::record::samples_summary;
use relayout_session::record::{decode_sampled_instruction, require_writable};

use super::{RepeatedRecording, default_profile};
use crate::exit::ExitStatus;
use crate::option_groups::ProfileArgs;
use crate::progress::TerminalProgress;

const EXAMPLES: &str = "\
Examples:
  perf mem record -o server.data -- ./server
  relayout record perf server.data -o server.relayout
  relayout report server.relayout

  perf c2c record -a -o all.data -- sleep 10
  relayout record perf all.data --kernel --debug vmlinux -o kernel.relayout

Of Arm SPE, make samples first: perf inject --itrace=M -i spe.data -o samples.data";

/// Import what 'perf mem record' or 'perf c2c record' wrote (Intel PEBS, AMD IBS, Arm SPE)
///
/// One process is imported, or the accesses to the kernel's memory; threads or CPUs are the
/// contexts. Samples are few of all accesses, so that 'relayout report' estimates transfers, from
/// rates and from the order of the samples, and says so. Run it where the program's files are:
/// instructions and types come from them.
#[derive(Debug, clap::Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("output", |output| output.help(
        "Write the profile to this folder [default: the name of FILE without .data, with .relayout]"
    ))
)]
pub struct Args {
    /// File written by perf
    file: PathBuf,
    #[command(flatten)]
    profile: ProfileArgs,
    /// Import the accesses of process PID [default: the one with most samples]
    #[arg(long, value_name = "PID", conflicts_with = "kernel")]
    pid: Option<u32>,
    /// Import accesses to the kernel's memory, by any process
    #[arg(long)]
    kernel: bool,
    /// The program's debug file [default: the program], or with --kernel its vmlinux, which also
    /// undoes KASLR
    #[arg(long, value_name = "FILE")]
    debug: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// A file that cannot be read or holds no accesses to memory.
pub fn run(args: &Args) -> Result<ExitStatus, UserError> {
    let default_output = || default_profile(&args.file.with_extension(""));
    let output = args.profile.output.clone().unwrap_or_else(default_output);
    require_writable(&output, args.profile.force)?;
    let import = PerfImport {
        file: args.file.clone(),
        pid: args.pid,
        kernel: args.kernel,
        debug: args.debug.clone(),
    };
    let repeated = RepeatedRecording {
        times: 1,
        progress: |_| TerminalProgress::when_slow(),
        // A signal ends the command.
        signal_count: &|| 0,
    };
    repeated.run(
        &output,
        args.profile.force,
        samples_summary,
        |_, progress| {
            progress.step("reading samples");
            import_perf(&import, &decode_sampled_instruction)
        },
    )
}
