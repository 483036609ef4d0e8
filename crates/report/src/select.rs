//! Which findings to show.

use relayout_contend::{Finding, Findings};

/// A filter over findings. Ranks stay those among all findings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// At most so many; 0 for all.
    pub top: usize,
    /// Only findings whose type, variable, or a type on the way to the contended member, has this
    /// name (with or without `struct`).
    pub type_name: Option<String>,
    /// Only findings with at least this fraction of all transfers; adjacent lines by what they are estimated to
    /// cost.
    pub share_min: f64,
}

impl Selection {
    /// The findings to show, ranked, and how many passed the filter before `top` cut them.
    pub fn pick<'a>(&self, findings: &'a Findings) -> (Vec<&'a Finding>, usize) {
        let mut picked: Vec<&Finding> = findings
            .findings
            .iter()
            .filter(|finding| self.admits(finding, findings))
            .collect();
        let passed = picked.len();
        if self.top > 0 {
            picked.truncate(self.top);
        }
        (picked, passed)
    }

    fn admits(&self, finding: &Finding, all: &Findings) -> bool {
        let share = match &finding.adjacent {
            // In no sum of transfers, but worth so many.
            Some(adjacent) => adjacent.cost_transfers / all.totals.tally.transfers().max(1) as f64,
            None => finding.share,
        };
        let named = |wanted: &String| {
            let wanted = bare(wanted);
            finding.subject.type_name() == wanted
                || finding.subject.variable() == Some(wanted)
                || finding.types_path.iter().any(|name| name == wanted)
        };
        share >= self.share_min && self.type_name.as_ref().is_none_or(named)
    }
}

/// Without `struct` or `union`.
pub(crate) fn bare(name: &str) -> &str {
    let tags = ["struct ", "union "];
    let bare = tags.iter().find_map(|tag| name.strip_prefix(tag));
    bare.unwrap_or(name).trim()
}
