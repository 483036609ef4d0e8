//! `relayout record`: who touches what.

pub mod kernel;
pub mod perf;
pub mod run;

use std::path::Path;

use relayout_profile::Profile;
use relayout_record::{Error, RecordingOutcome};
use relayout_session::record::record_repeatedly;

use crate::exit::{ExitStatus, print_error};
use crate::print::{print_note, print_text};
use crate::progress::TerminalProgress;

/// Record who touches which bytes of memory
#[derive(Debug, clap::Subcommand)]
pub enum RecordTarget {
    Kernel(Box<kernel::Args>),
    Run(Box<run::Args>),
    Perf(perf::Args),
}

/// Runs `relayout record`.
///
/// # Errors
/// Bad input, a missing tool, or nothing was recorded.
pub fn run(target: &RecordTarget) -> anyhow::Result<ExitStatus> {
    match target {
        RecordTarget::Kernel(args) => kernel::run(args),
        RecordTarget::Run(args) => run::run(args),
        RecordTarget::Perf(args) => perf::run(args),
    }
}

/// A recording that is made several times.
struct RepeatedRecording<'s> {
    times: u16,
    quiet: bool,
    /// Prints the notes of each recording.
    notes: bool,
    /// Makes the progress of a recording, from the prefix of its lines and whether to be quiet.
    progress: fn(String, bool) -> TerminalProgress,
    /// Number of signals so far that ask relayout to stop.
    signal_count: &'s dyn Fn() -> u32,
}

impl RepeatedRecording<'_> {
    /// Records, writes the profile and prints its summary.
    fn run(
        &self,
        output: &Path,
        force: bool,
        summary: fn(&Path, &Profile) -> String,
        record: impl Fn(u16, &TerminalProgress) -> Result<RecordingOutcome, Error>,
    ) -> anyhow::Result<ExitStatus> {
        let notify = |note: &str| {
            if self.notes {
                print_note(&format!("note: {note}"));
            }
        };
        let recordings = record_repeatedly(self.times, &notify, |number| {
            let prefix = match self.times {
                0 | 1 => String::new(),
                times => format!("recording {} of {times}: ", number + 1),
            };
            let progress = (self.progress)(prefix, self.quiet);
            progress.finish_after(record(number, &progress))
        })?;
        // A signal that has ended a recording does not abort this.
        let signals_seen = (self.signal_count)();
        let is_aborted = || (self.signal_count)() > signals_seen;
        let (profile, problem) = recordings.save(output, force, &command_line(), &is_aborted)?;
        if !self.quiet {
            print_text(&summary(output, &profile))?;
        }
        let Some(problem) = problem else {
            return Ok(ExitStatus::Done);
        };
        let exit = print_error(&problem.into());
        print_note(&format!(
            "what was recorded until then is in {}",
            output.display()
        ));
        Ok(exit)
    }
}

/// Returns the command line for profiles.
pub(super) fn command_line() -> Vec<String> {
    std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}
