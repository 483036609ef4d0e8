//! Folder of a suite: for each job a profile, a log, and a document that says how it ended.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use relayout_files::{cannot, open_own_file, read_regular_text, write_files};
use relayout_messages::UserError;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::jobs::SuiteJob;

/// Format of the documents.
const FORMAT: &str = "relayout/suite-job/1";

/// Folder with the files of a suite's jobs.
#[derive(Clone, Debug)]
pub struct SuiteFolder {
    path: PathBuf,
}

/// State of a job by its files.
#[derive(Clone, Debug, PartialEq)]
pub enum JobState {
    /// It was not run, or with other words in the suite's file.
    Waiting,
    /// It has a profile.
    Done(JobResult),
    /// Its recording failed.
    Failed(JobResult),
}

/// End of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobResult {
    format: String,
    id: String,
    /// Words of the recording, which are others if the file was changed.
    words: Vec<String>,
    command: Vec<String>,
    /// Version of relayout that recorded.
    pub version: String,
    /// Seconds that it took.
    pub seconds: f64,
    /// Exit code of the recording; `None` if a signal killed it.
    pub exit_code: Option<i32>,
    /// Reason of a failure; `None` for a recording that succeeded.
    pub failure: Option<String>,
}

/// Lock of a job, which lasts as long as the process.
#[derive(Debug)]
pub(super) struct JobLock(#[expect(dead_code, reason = "closing the file unlocks")] File);

impl SuiteFolder {
    /// Folder at `path`, which need not be there.
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Path of a job's profile.
    pub fn profile(&self, job: &SuiteJob) -> PathBuf {
        self.file(job, "relayout")
    }

    /// Path of a job's log.
    pub fn log(&self, job: &SuiteJob) -> PathBuf {
        self.file(job, "log")
    }

    fn file(&self, job: &SuiteJob, extension: &str) -> PathBuf {
        self.path.join(format!("{}.{extension}", job.id))
    }

    /// Returns the state of a job. A document that cannot be read, and one without its profile,
    /// count as none.
    pub fn state(&self, job: &SuiteJob) -> JobState {
        let Some(result) = self.result(job) else {
            return JobState::Waiting;
        };
        match result.failure.is_some() {
            true => JobState::Failed(result),
            false if self.profile(job).is_dir() => JobState::Done(result),
            false => JobState::Waiting,
        }
    }

    fn result(&self, job: &SuiteJob) -> Option<JobResult> {
        let text = read_regular_text(&self.file(job, "json")).ok()?;
        let result: JobResult = serde_json::from_str(&text).ok()?;
        let is_of = result.format == FORMAT
            && result.id == job.id
            && result.words == job.words
            && result.command == job.command;
        is_of.then_some(result)
    }

    /// Locks a job by its log; `None` if another process runs it.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub(super) fn lock(&self, job: &SuiteJob) -> Result<Option<JobLock>, UserError> {
        let path = self.log(job);
        let parent = path.parent().unwrap_or(&self.path);
        fs::create_dir_all(parent).map_err(cannot("create", parent))?;
        let file = open_own_file(&path).map_err(cannot("create", &path))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(JobLock(file))),
            Err(Errno::WOULDBLOCK) => Ok(None),
            // A file system without locks: two processes that run one job both write it whole.
            Err(_) => Ok(Some(JobLock(file))),
        }
    }

    /// Removes what an earlier run of the job left, but for its log.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub(super) fn clear(&self, job: &SuiteJob) -> Result<(), UserError> {
        let (document, profile) = (self.file(job, "json"), self.profile(job));
        if document.exists() {
            fs::remove_file(&document).map_err(cannot("remove", &document))?;
        }
        if profile.exists() {
            fs::remove_dir_all(&profile).map_err(cannot("remove", &profile))?;
        }
        Ok(())
    }

    /// Writes how a job ended.
    ///
    /// # Errors
    /// The document cannot be written.
    pub(super) fn keep(&self, job: &SuiteJob, result: &JobResult) -> Result<(), UserError> {
        let text = serde_json::to_string_pretty(result).unwrap_or_default() + "\n";
        let path = self.file(job, "json");
        let name = path.file_name().unwrap_or_default();
        let folder = path.parent().unwrap_or(&self.path);
        Ok(write_files(folder, &[(name.as_ref(), text.as_bytes())])?)
    }
}

impl JobResult {
    pub(super) fn new(
        job: &SuiteJob,
        seconds: f64,
        exit_code: Option<i32>,
        failure: Option<String>,
    ) -> Self {
        Self {
            format: FORMAT.to_owned(),
            id: job.id.clone(),
            words: job.words.clone(),
            command: job.command.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            seconds,
            exit_code,
            failure,
        }
    }
}
