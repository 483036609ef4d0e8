//! Suites: how their recordings ended, as `relayout/suite/1`.

use relayout_workflows::suite::{JobReport, JobResult, JobState, SuiteOutcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Document;

/// State of a job that another process runs.
pub(crate) const ELSEWHERE: &str = "elsewhere";

/// The document of `suite --json`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SuiteDocument {
    /// Name and version of this document.
    pub(crate) schema: String,
    /// Folder with the results.
    pub(crate) folder: String,
    /// Number of jobs that are done.
    pub(crate) done: usize,
    /// Number of jobs that failed.
    pub(crate) failed: usize,
    /// Recordings that have no result, here or elsewhere.
    pub(crate) waiting: usize,
    /// Jobs in the order of the file.
    pub(crate) jobs: Vec<SuiteJobDocument>,
}

impl Document for SuiteDocument {
    const SCHEMA: &'static str = "relayout/suite/1";
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SuiteJobDocument {
    /// Name of the job.
    pub(crate) id: String,
    /// `done`, `failed`, `waiting`, or `elsewhere`: another process runs it.
    pub(crate) state: String,
    /// True if it was run by this call.
    pub(crate) new: bool,
    /// Profile; null unless done.
    pub(crate) profile: Option<String>,
    /// Log, which is there once the job was begun.
    pub(crate) log: String,
    /// Version of relayout that recorded; null without a result, as the following two.
    pub(crate) version: Option<String>,
    /// Seconds that it took.
    pub(crate) seconds: Option<f64>,
    /// Exit code of the recording; null if a signal killed it, too.
    pub(crate) exit_code: Option<i32>,
    /// Reason of a failure, or what this machine lacks.
    pub(crate) message: Option<String>,
}

/// Returns the document of a suite.
pub fn suite_document(outcome: &SuiteOutcome) -> SuiteDocument {
    let count = |state: &str| {
        let of_state = { outcome.jobs.iter() }.filter(|report| state_name(report) == state);
        of_state.count()
    };
    SuiteDocument {
        schema: SuiteDocument::SCHEMA.to_owned(),
        folder: outcome.folder.path().display().to_string(),
        done: count("done"),
        failed: count("failed"),
        waiting: count("waiting") + count(ELSEWHERE),
        jobs: { outcome.jobs.iter() }
            .map(|report| job_document(outcome, report))
            .collect(),
    }
}

fn job_document(outcome: &SuiteOutcome, report: &JobReport) -> SuiteJobDocument {
    let (folder, job) = (&outcome.folder, &report.job);
    let result = job_result(report);
    let is_done = matches!(report.state, JobState::Done(_));
    SuiteJobDocument {
        id: job.id.clone(),
        state: state_name(report).to_owned(),
        new: report.is_new,
        profile: is_done.then(|| folder.profile(job).display().to_string()),
        log: folder.log(job).display().to_string(),
        version: result.map(|result| result.version.clone()),
        seconds: result.map(|result| result.seconds),
        exit_code: result.and_then(|result| result.exit_code),
        message: job_message(report).map(str::to_owned),
    }
}

fn job_result(report: &JobReport) -> Option<&JobResult> {
    match &report.state {
        JobState::Done(result) | JobState::Failed(result) => Some(result),
        JobState::Waiting => None,
    }
}

fn job_message(report: &JobReport) -> Option<&str> {
    let failure = job_result(report).and_then(|result| result.failure.as_deref());
    failure.or(report.lacking.as_deref())
}

fn state_name(report: &JobReport) -> &'static str {
    match report.state {
        JobState::Done(_) => "done",
        JobState::Failed(_) => "failed",
        JobState::Waiting if report.is_elsewhere => ELSEWHERE,
        JobState::Waiting => "waiting",
    }
}
