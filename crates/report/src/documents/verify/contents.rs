//! Input of the document of an experiment with programs.

use relayout_verify::runs::ExperimentRuns;
use relayout_workflows::verify::JudgedRuns;

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
