//! Verdict for `git bisect run`.

use relayout_verify::judged_change::ChangeVerdict;

use super::RecordingComparison;
use super::rates::RECORDINGS_MIN;

/// Verdict on the commit of the new side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BisectVerdict {
    /// Nothing got worse.
    Good,
    /// A type or the whole got worse.
    Bad,
    /// It cannot be told: the recordings are too few, or spread too far.
    Untestable,
}

impl RecordingComparison {
    /// Judges the new side as a commit in a bisection. With named types only these are judged, and
    /// else the types and the totals.
    pub fn bisect_verdict(&self) -> BisectVerdict {
        if self.is_worse() {
            return BisectVerdict::Bad;
        }
        let is_open = self.judged_changes().any(|change| {
            let recordings = change.old.len().min(change.new.len());
            let is_beyond = change.judged.change.is_none_or(|found| found > self.margin);
            recordings < RECORDINGS_MIN
                || change.judged.verdict == ChangeVerdict::Unclear && is_beyond
        });
        match is_open {
            true => BisectVerdict::Untestable,
            false => BisectVerdict::Good,
        }
    }
}
