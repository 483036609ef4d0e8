//! Experiments on a change: a JSON document and text.

use relayout_verify::judge::ExperimentOutcome;
use relayout_verify::runs::ExperimentRuns;
use relayout_workflows::verify::JudgedRuns;

use crate::words::experiment::experiment_notes;

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
    pub(crate) fn outcome(&self) -> &'a ExperimentOutcome {
        &self.judged.outcome
    }

    pub(crate) fn details(&self) -> &'a ExperimentOutcome {
        &self.judged.details
    }

    pub(crate) fn all_notes(&self) -> Vec<String> {
        let mut notes = experiment_notes(self.runs, self.outcome());
        notes.extend_from_slice(self.notes);
        notes
    }
}
