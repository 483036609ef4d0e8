//! Ranks of findings in each run alone, and their stability.

use crate::finding::{Finding, share};
use crate::group::{self, LineGroup};

/// Weight by which a finding is ranked, in each run alone.
pub(crate) type RunWeights = Vec<u64>;

pub(crate) fn transfers_by_run(group: &LineGroup, runs: usize) -> RunWeights {
    let mut transfers = vec![0; runs];
    for conflict in &group.conflicts {
        if let Some(sum) = transfers.get_mut(usize::from(conflict.row.run)) {
            *sum += group::row_tally(conflict.row).transfers();
        }
    }
    transfers
}

/// Ranks of the findings in each run alone.
pub(crate) struct RunRanks {
    /// By run, then by overall rank: the rank in that run, from 1; `None` if the finding was not
    /// there.
    ranks: Vec<Vec<Option<usize>>>,
}

impl RunRanks {
    /// Maximum difference of ranks that count as the same.
    const SLACK: usize = 2;
    /// Ranks up to this one count as the same.
    const TOP: usize = 10;

    pub fn new(runs: usize, findings: &[(Finding, RunWeights)]) -> Self {
        let rank_run = |run: usize| {
            let transfers: Vec<u64> = findings.iter().map(|(_, by_run)| by_run[run]).collect();
            let mut order: Vec<usize> = (0..transfers.len()).collect();
            order.sort_by_key(|&at| std::cmp::Reverse(transfers[at]));
            let mut ranks = vec![None; transfers.len()];
            for (rank, at) in order.into_iter().enumerate() {
                ranks[at] = (transfers[at] > 0).then_some(rank + 1);
            }
            ranks
        };
        Self {
            ranks: (0..runs).map(rank_run).collect(),
        }
    }

    /// Returns [`Finding::stability`]; `at` counts findings from 0.
    pub fn stability(&self, at: usize) -> Option<f64> {
        let overall = at + 1;
        let kept =
            |rank: usize| rank.abs_diff(overall) <= Self::SLACK || rank.max(overall) <= Self::TOP;
        let runs = self.ranks.len();
        let stayed = self
            .ranks
            .iter()
            .filter(|ranks| ranks[at].is_some_and(kept))
            .count();
        (runs > 1).then(|| share(stayed as u64, runs as u64, 0.0))
    }
}
