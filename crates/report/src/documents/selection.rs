//! Selection of the findings to show.

use relayout_contend::{Finding, Findings};

/// A filter over findings. Ranks stay those among all findings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FindingSelection {
    /// At most so many; 0 for all.
    pub top: usize,
    /// Only findings whose type, variable, or a type on the way to the contended member, has this
    /// name (with or without `struct`).
    pub type_name: Option<String>,
    /// Only findings with at least this fraction of all transfers; adjacent lines by what they are
    /// estimated to cost.
    pub share_min: f64,
}

impl FindingSelection {
    /// The findings to show, ranked, and how many passed the filter before `top` cut them.
    pub fn select_findings<'a>(&self, findings: &'a Findings) -> (Vec<&'a Finding>, usize) {
        let mut picked: Vec<&Finding> = findings
            .findings
            .iter()
            .filter(|finding| self.is_selected(finding, findings))
            .collect();
        let passed = picked.len();
        if self.top > 0 {
            picked.truncate(self.top);
        }
        (picked, passed)
    }

    fn is_selected(&self, finding: &Finding, findings: &Findings) -> bool {
        let share = match &finding.adjacent {
            // In no sum of transfers, but worth so many.
            Some(adjacent) => {
                adjacent.cost_transfers / findings.totals.tally.transfers().max(1) as f64
            }
            None => finding.share,
        };
        let is_named = |name: &String| finding.is_about(name);
        share >= self.share_min && self.type_name.as_ref().is_none_or(is_named)
    }
}
