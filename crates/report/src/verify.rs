//! Experiments on a change: a JSON document and text.

mod document;
pub mod kernel;
pub(crate) mod table;
mod text;

use relayout_verify::judge::ExperimentOutcome;
use relayout_verify::runs::ExperimentRuns;
use relayout_workflows::verify::JudgedRuns;

pub use document::{VerifyDocument, verify_document};
pub use text::render_text;

/// A judged experiment with programs.
#[derive(Clone, Copy, Debug)]
pub struct VerifyContents<'a> {
    /// All starts.
    pub runs: &'a ExperimentRuns,
    /// Their judgement.
    pub judged: &'a JudgedRuns,
    /// Further notes.
    pub notes: &'a [String],
}

impl<'a> VerifyContents<'a> {
    fn outcome(&self) -> &'a ExperimentOutcome {
        &self.judged.outcome
    }

    fn details(&self) -> &'a ExperimentOutcome {
        &self.judged.details
    }

    fn all_notes(&self) -> Vec<String> {
        let mut notes = text::notes(self.runs, self.outcome());
        notes.extend_from_slice(self.notes);
        notes
    }
}
