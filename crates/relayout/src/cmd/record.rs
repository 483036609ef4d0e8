//! `relayout record`: who touches what.

pub mod kernel;
pub mod perf;
pub mod run;

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use relayout_profile::{Profile, WriteOptions};
use relayout_record::{Error, RecordingOutcome};

use relayout_session::record::sign_profile;

use crate::exit::ExitStatus;
use crate::print::print_text;
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

/// Recording one thing several times.
struct RepeatedRecording {
    times: u16,
    quiet: bool,
    /// Shows the progress of a recording, given the prefix of its lines and whether to be quiet.
    shown: fn(String, bool) -> TerminalProgress,
}

/// Profiles of several recordings, and the error that ended the series early.
struct FinishedRecordings {
    profiles: Vec<Profile>,
    problem: Option<Error>,
}

impl RepeatedRecording {
    /// Calls `record` with 0, 1, ... until a recording fails, and prints the notes of each.
    ///
    /// # Errors
    /// The first one recorded nothing.
    fn record(
        &self,
        record: impl Fn(u64, &TerminalProgress) -> Result<RecordingOutcome, Error>,
    ) -> anyhow::Result<FinishedRecordings> {
        let mut profiles = Vec::new();
        let mut problem = None;
        for n in 0..self.times {
            let shown = (self.shown)(prefix(n, self.times), self.quiet);
            let recorded = record(n.into(), &shown);
            shown.finish();
            match recorded {
                Ok(RecordingOutcome {
                    profile,
                    problem: why,
                    notes,
                }) => {
                    notes
                        .iter()
                        .for_each(|note| eprintln!("relayout: note: {note}"));
                    profiles.push(profile);
                    problem = why;
                }
                // What earlier runs recorded is kept.
                Err(error) if !profiles.is_empty() => problem = Some(error),
                Err(error) => return Err(error.into()),
            }
            if problem.is_some() {
                break;
            }
        }
        Ok(FinishedRecordings { profiles, problem })
    }
}

impl FinishedRecordings {
    /// Writes them as one profile, and says what went wrong.
    fn save(
        self,
        output: &Path,
        force: bool,
        quiet: bool,
        summary: &dyn Fn(&Path, &Profile) -> String,
    ) -> anyhow::Result<ExitStatus> {
        let mut profile = match <[Profile; 1]>::try_from(self.profiles) {
            Ok([profile]) => profile,
            Err(many) => relayout_profile::merge(many).context("cannot merge the recordings")?,
        };
        sign_profile(&mut profile, &command_line());
        relayout_profile::write(output, &profile, &WriteOptions { overwrite: force })?;
        if !quiet {
            print_text(&summary(output, &profile))?;
        }
        let Some(problem) = self.problem else {
            return Ok(ExitStatus::Done);
        };
        let exit = crate::exit::print_error(&problem.into());
        eprintln!(
            "relayout: what was recorded until then is in {}",
            output.display()
        );
        Ok(exit)
    }
}

fn prefix(n: u16, total: u16) -> String {
    if total > 1 {
        format!("recording {} of {total}: ", n + 1)
    } else {
        String::new()
    }
}

/// Before minutes are spent: can the profile be written there?
fn require_writable(output: &Path, force: bool) -> anyhow::Result<()> {
    match relayout_profile::validate_target(output, &WriteOptions { overwrite: force }) {
        Err(exists @ relayout_profile::Error::Exists { .. }) => {
            anyhow::bail!("{exists}; --force replaces it")
        }
        other => other?,
    }
    let parent = output
        .parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let probe = parent.join(format!(".relayout-{}", std::process::id()));
    fs::create_dir(&probe)
        .and_then(|()| fs::remove_dir(&probe))
        .with_context(|| format!("cannot write to {}", parent.display()))
}

/// Returns the command line for profiles.
pub(super) fn command_line() -> Vec<String> {
    let words = std::env::args_os();
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}
