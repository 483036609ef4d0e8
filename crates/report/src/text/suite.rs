//! Text of a suite: how its recordings ended.

use std::fmt::Write as _;

use relayout_workflows::suite::SuiteOutcome;

use crate::documents::suite::suite_document;
use crate::words::counted;

/// Renders how the jobs of a suite ended: a sentence, and a line for each that has no profile for a
/// reason.
pub fn render_text(outcome: &SuiteOutcome) -> String {
    let document = suite_document(outcome);
    let new = document.jobs.iter().filter(|job| job.new).count();
    let mut text = format!(
        "{} in {}: {} done, {} failed, {} not run; {new} of them now\n",
        counted(document.jobs.len() as u64, "recording"),
        document.folder,
        document.done,
        document.failed,
        document.waiting,
    );
    for (job, report) in document.jobs.iter().zip(&outcome.jobs) {
        if let Some(message) = job.message {
            let log = outcome.folder.log(&report.job);
            let _ = writeln!(
                text,
                "{:<9} {}: {message}\n{:9} log: {}",
                job.state,
                job.id,
                "",
                log.display()
            );
        } else if job.state == "elsewhere" {
            let _ = writeln!(text, "{:<9} {}: another process runs it", job.state, job.id);
        }
    }
    text
}

/// Renders the names of the jobs, a line each.
pub fn render_list(outcome: &SuiteOutcome) -> String {
    let names = outcome.jobs.iter().map(|report| report.job.id.as_str());
    names.flat_map(|name| [name, "\n"]).collect()
}
