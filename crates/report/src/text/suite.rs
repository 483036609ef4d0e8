//! Text of a suite: how its recordings ended.

use std::fmt::Write as _;

use crate::documents::suite::{ELSEWHERE, SuiteDocument};
use crate::words::counted;

/// Renders how the jobs of a suite ended: a sentence, and a line for each that has no profile for a
/// reason.
pub fn suite_text(document: &SuiteDocument) -> String {
    let new = document.jobs.iter().filter(|job| job.new).count();
    let mut text = format!(
        "{} in {}: {} done, {} failed, {} not run; {new} of them now\n",
        counted(document.jobs.len() as u64, "recording"),
        document.folder,
        document.done,
        document.failed,
        document.waiting,
    );
    for job in &document.jobs {
        if let Some(message) = &job.message {
            let _ = writeln!(
                text,
                "{:<9} {}: {message}\n{:9} log: {}",
                job.state, job.id, "", job.log
            );
        } else if job.state == ELSEWHERE {
            let _ = writeln!(text, "{:<9} {}: another process runs it", job.state, job.id);
        }
    }
    text
}

/// Renders the names of the jobs, a line each.
pub fn job_list(document: &SuiteDocument) -> String {
    let names = document.jobs.iter().map(|job| job.id.as_str());
    names.flat_map(|name| [name, "\n"]).collect()
}
