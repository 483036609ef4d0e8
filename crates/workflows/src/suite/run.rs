//! Runs the jobs of a suite that have no result yet, one after the other.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use relayout_layout::suggestions;
use relayout_measure::ProgramCommand;
use relayout_messages::UserError;

use super::file::WordsVerifier;
use super::folder::{JobResult, JobState, SuiteFolder};
use super::jobs::{JobShard, SuiteJob};
use super::{SuiteFile, SuiteTools};
use crate::logged_command::{CommandRunner, FailedCommand, require_space};

/// Exit code of a recording that lacks something on this machine.
const ENVIRONMENT_CODE: i32 = 3;
/// Beginning of the command's messages.
const MESSAGE_START: &str = "relayout: ";
/// Beginning of those that are no reason of a failure.
const WARNING_START: &str = "relayout: warning: ";

/// Jobs to run.
#[derive(Clone, Debug)]
pub struct SuiteRequest {
    /// File that describes the suite.
    pub file: PathBuf,
    /// Folder for the results.
    pub folder: PathBuf,
    /// Names of the jobs; empty for all.
    pub jobs: Vec<String>,
    /// Part of the jobs.
    pub shard: Option<JobShard>,
    /// Time after which no job begins.
    pub time: Option<Duration>,
    /// Runs failed jobs again.
    pub retry_failed: bool,
    /// Verifier of the options that the file gives to recordings.
    pub verify_words: WordsVerifier,
}

/// State of the asked jobs at the end.
#[derive(Clone, Debug)]
pub struct SuiteOutcome {
    /// Folder with the results.
    pub folder: SuiteFolder,
    /// Jobs in the order of the file.
    pub jobs: Vec<JobReport>,
}

/// State of a job at the end.
#[derive(Clone, Debug)]
pub struct JobReport {
    /// Job.
    pub job: SuiteJob,
    /// State by its files.
    pub state: JobState,
    /// True if another process runs it.
    pub is_elsewhere: bool,
    /// True if it was run now.
    pub is_new: bool,
    /// What this machine lacks for it; such a job stays to be run.
    pub lacking: Option<String>,
}

impl SuiteRequest {
    /// Returns the state of the asked jobs, without running any.
    ///
    /// # Errors
    /// The file describes no suite, or not such a job.
    pub fn list(&self) -> Result<SuiteOutcome, UserError> {
        let folder = SuiteFolder::new(self.folder.clone());
        let mut jobs = SuiteFile::read_jobs(&self.file, self.verify_words)?;
        let names: BTreeSet<&str> = jobs.iter().map(|job| job.id.as_str()).collect();
        if let Some(unknown) = { self.jobs.iter() }.find(|job| !names.contains(job.as_str())) {
            let similar = suggestions::similar_names(names.iter().copied(), unknown);
            let suggestion = suggestions::suggestion_suffix(&similar);
            let file = self.file.display();
            let message = format!("{file} has no job '{unknown}'{suggestion}");
            return Err(UserError::input(message).with_remedy("--list names all"));
        }
        let is_asked = |job: &SuiteJob| self.jobs.is_empty() || self.jobs.contains(&job.id);
        jobs.retain(is_asked);
        let of_shard = jobs.into_iter().enumerate();
        let of_shard =
            of_shard.filter(|(position, _)| self.shard.is_none_or(|shard| shard.has(*position)));
        let jobs = of_shard.map(|(_, job)| JobReport {
            state: folder.state(&job),
            job,
            is_elsewhere: false,
            is_new: false,
            lacking: None,
        });
        Ok(SuiteOutcome {
            jobs: jobs.collect(),
            folder,
        })
    }
}

/// Runs the asked jobs that have no result. A recording that fails is kept as failed.
///
/// # Errors
/// The file describes no suite, a result cannot be written, or the user interrupts. What has
/// finished stays.
pub fn run_suite(
    request: &SuiteRequest,
    tools: &SuiteTools<'_>,
) -> Result<SuiteOutcome, UserError> {
    let mut outcome = request.list()?;
    let begun = Instant::now();
    let is_due = |report: &JobReport| match report.state {
        JobState::Waiting => true,
        JobState::Failed(_) => request.retry_failed,
        JobState::Done(_) => false,
    };
    let due = outcome.jobs.iter().filter(|report| is_due(report)).count();
    let mut runner = JobRunner {
        commands: CommandRunner::new(tools.interrupt, None)?,
        folder: &outcome.folder,
        tools,
    };
    let mut number = 0;
    for report in outcome.jobs.iter_mut().filter(|report| is_due(report)) {
        if request.time.is_some_and(|time| begun.elapsed() >= time) {
            break;
        }
        if tools.interrupt.is_set() {
            return Err(UserError::interrupted());
        }
        number += 1;
        tools
            .progress
            .step(&format!("{number} of {due}: {}", report.job.id));
        runner.run(report)?;
    }
    Ok(outcome)
}

struct JobRunner<'r> {
    commands: CommandRunner,
    folder: &'r SuiteFolder,
    tools: &'r SuiteTools<'r>,
}

impl JobRunner<'_> {
    fn run(&mut self, report: &mut JobReport) -> Result<(), UserError> {
        let job = &report.job;
        let Some(_lock) = self.folder.lock(job)? else {
            report.is_elsewhere = true;
            return Ok(());
        };
        // Another process may have finished it since the list was made.
        let now = self.folder.state(job);
        if now != report.state {
            report.state = now;
            return Ok(());
        }
        self.folder.clear(job)?;
        report.state = JobState::Waiting;
        let begun = Instant::now();
        let ended = self.record(job)?;
        let seconds = begun.elapsed().as_secs_f64();
        let result = match ended {
            Ok(()) => JobResult::new(job, seconds, Some(0), None),
            Err(failure) => {
                // A failed recording keeps what it has; here it is no result.
                self.folder.clear(job)?;
                let words = failure.words;
                self.tools.progress.warn(&format!("{}: {words}", job.id));
                if failure.exit_code == Some(ENVIRONMENT_CODE) {
                    report.lacking = Some(words);
                    return Ok(());
                }
                JobResult::new(job, seconds, failure.exit_code, Some(words))
            }
        };
        self.folder.keep(job, &result)?;
        report.state = self.folder.state(job);
        report.is_new = true;
        Ok(())
    }

    fn record(&self, job: &SuiteJob) -> Result<Result<(), JobFailure>, UserError> {
        let log = self.folder.log(job);
        let dir = job.directory.as_deref().unwrap_or(Path::new("."));
        if !dir.is_dir() {
            let words = format!("its directory {} is not there", dir.display());
            let exit_code = None;
            return Ok(Err(JobFailure { words, exit_code }));
        }
        let profile = std::path::absolute(self.folder.profile(job));
        let profile = profile.unwrap_or_else(|_| self.folder.profile(job));
        let mut words = vec![self.tools.relayout.display().to_string()];
        words.extend(job.recording_words(&profile));
        let command = ProgramCommand {
            text: format!("relayout {}", job.words.join(" ")),
            words,
            environment: Vec::new(),
        };
        match self.commands.run(&command, dir, &log)? {
            Ok(()) => Ok(Ok(())),
            Err(failed) => {
                require_space(self.folder.path())?;
                Ok(Err(JobFailure::from_failed(&failed)))
            }
        }
    }
}

/// Recording that failed.
struct JobFailure {
    exit_code: Option<i32>,
    words: String,
}

impl JobFailure {
    /// Takes the reason from the first message in the log, or from how the recording ended.
    fn from_failed(failed: &FailedCommand) -> Self {
        let log = fs::read(&failed.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let mut lines = log.lines().filter(|line| !line.starts_with(WARNING_START));
        let message = lines.find_map(|line| line.strip_prefix(MESSAGE_START));
        Self {
            exit_code: failed.exit_code,
            words: message.map_or_else(|| failed.words(), str::to_owned),
        }
    }
}
