//! `relayout record`: who touches what.

mod guest_program;
pub mod kernel;
pub mod perf;
pub mod run;
mod simulation;

use std::path::{Path, PathBuf};

use relayout_messages::UserError;
use relayout_profile::Profile;
use relayout_record::{Error, RecordingOutcome};
use relayout_report::Document;
use relayout_report::documents::rates::rates_document;
use relayout_report::text::rates::render_rates;
use relayout_report::text::record::idle_text;
use relayout_session::record::record_repeatedly;
use relayout_session::{name_program_rates, name_rates};

use crate::exit::ExitStatus;
use crate::print::{self, print_failure, print_line, print_note, print_text, print_warning};
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
pub fn run(target: &RecordTarget) -> Result<ExitStatus, UserError> {
    match target {
        RecordTarget::Kernel(args) => kernel::run(args),
        RecordTarget::Run(args) => run::run(args),
        RecordTarget::Perf(args) => perf::run(args),
    }
}

/// A recording that is made several times.
struct RepeatedRecording<'s> {
    times: u16,
    /// Makes the progress of a recording, from the prefix of its lines.
    progress: fn(String) -> TerminalProgress,
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
    ) -> Result<ExitStatus, UserError> {
        let notify = |note: &str| print_note(&format!("note: {note}"));
        let recordings = record_repeatedly(self.times, &notify, |number| {
            let prefix = match self.times {
                0 | 1 => String::new(),
                times => format!("recording {} of {times}: ", number + 1),
            };
            let progress = (self.progress)(prefix);
            progress.finish_after(record(number, &progress))
        })?;
        // A signal that has ended a recording does not abort this.
        let signals_seen = (self.signal_count)();
        let is_aborted = || (self.signal_count)() > signals_seen;
        let (profile, problem) = recordings.save(output, force, &command_line(), &is_aborted)?;
        let summary = summary(output, &profile);
        match print::is_quiet() {
            // Standard output is the recorded program's alone.
            true => print_line(summary.trim_end()),
            false => print_text(&summary)?,
        }
        let Some(problem) = problem else {
            return Ok(ExitStatus::Done);
        };
        let problem = UserError::from(problem);
        let exit = ExitStatus::from(problem.category());
        print_failure(&problem, exit as u8);
        print_warning(&format!(
            "what was recorded until then is in {}",
            output.display()
        ));
        Ok(exit)
    }
}

/// Returns the folder for a profile of a program or workload, in the current one: its name with `.relayout`.
fn default_profile(subject: &Path) -> PathBuf {
    let mut name = subject
        .file_name()
        .unwrap_or(subject.as_os_str())
        .to_owned();
    name.push(".relayout");
    name.into()
}

/// Has a window without a profile, and prints what it was like: its rates, or the time that it took.
fn print_window(
    record: impl FnOnce(&TerminalProgress) -> Result<RecordingOutcome, Error>,
    as_json: bool,
) -> Result<ExitStatus, UserError> {
    let progress = TerminalProgress::new(String::new());
    let recorded = progress.finish_after(record(&progress))?;
    recorded.problem.map_or(Ok(()), Err)?;
    let Some(rates) = recorded.rates else {
        print_text(&idle_text(&recorded.profile))?;
        return Ok(ExitStatus::Done);
    };
    let naming = TerminalProgress::new(String::new());
    let profile = &recorded.profile;
    let (named, kernel) = match &recorded.kernel_profile {
        Some(kernel) => (name_program_rates(profile, kernel, &rates, &naming), kernel),
        None => (name_rates(profile, &rates, &naming), profile),
    };
    let names = naming.finish_after(named)?;
    let document = rates_document(&kernel.meta, &rates, &names);
    match as_json {
        true => print_text(&document.to_json()?)?,
        false => print_text(&render_rates(&document))?,
    }
    Ok(ExitStatus::Done)
}

/// Returns the command line for profiles.
pub(super) fn command_line() -> Vec<String> {
    std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}
