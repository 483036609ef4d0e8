//! Suites: how their recordings ended, as `relayout/suite/1`.

use relayout_workflows::suite::{JobReport, JobResult, JobState, SuiteOutcome};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Document;

/// The document of `suite --json`.
#[derive(Serialize, JsonSchema)]
pub struct SuiteDocument<'a> {
    /// Name and version of this document.
    schema: &'static str,
    /// Folder with the results.
    pub(crate) folder: String,
    /// Number of jobs that are done.
    pub(crate) done: usize,
    /// Number of jobs that failed.
    pub(crate) failed: usize,
    /// Recordings that have no result, here or elsewhere.
    pub(crate) waiting: usize,
    /// Jobs in the order of the file.
    pub(crate) jobs: Vec<SuiteJobDocument<'a>>,
}

impl Document for SuiteDocument<'_> {
    const SCHEMA: &'static str = "relayout/suite/1";
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct SuiteJobDocument<'a> {
    /// Name of the job.
    pub(crate) id: &'a str,
    /// `done`, `failed`, `waiting`, or `elsewhere`: another process runs it.
    pub(crate) state: &'static str,
    /// True if it was run by this call.
    pub(crate) new: bool,
    /// Profile; null unless done.
    profile: Option<String>,
    /// Log, which is there once the job was begun.
    log: String,
    /// Version of relayout that recorded; null without a result, as the following two.
    version: Option<&'a str>,
    /// Seconds that it took.
    seconds: Option<f64>,
    /// Exit code of the recording; null if a signal killed it, too.
    exit_code: Option<i32>,
    /// Reason of a failure, or what this machine lacks.
    pub(crate) message: Option<&'a str>,
}

/// Returns the document of a suite.
pub fn suite_document(outcome: &SuiteOutcome) -> SuiteDocument<'_> {
    let count = |state: &str| {
        let of_state = { outcome.jobs.iter() }.filter(|report| state_name(report) == state);
        of_state.count()
    };
    SuiteDocument {
        schema: SuiteDocument::SCHEMA,
        folder: outcome.folder.path().display().to_string(),
        done: count("done"),
        failed: count("failed"),
        waiting: count("waiting") + count("elsewhere"),
        jobs: { outcome.jobs.iter() }
            .map(|report| job_document(outcome, report))
            .collect(),
    }
}

fn job_document<'a>(outcome: &SuiteOutcome, report: &'a JobReport) -> SuiteJobDocument<'a> {
    let (folder, job) = (&outcome.folder, &report.job);
    let result = job_result(report);
    let is_done = matches!(report.state, JobState::Done(_));
    SuiteJobDocument {
        id: &job.id,
        state: state_name(report),
        new: report.is_new,
        profile: is_done.then(|| folder.profile(job).display().to_string()),
        log: folder.log(job).display().to_string(),
        version: result.map(|result| result.version.as_str()),
        seconds: result.map(|result| result.seconds),
        exit_code: result.and_then(|result| result.exit_code),
        message: job_message(report),
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
        JobState::Waiting if report.is_elsewhere => "elsewhere",
        JobState::Waiting => "waiting",
    }
}
