//! Ranks of findings in each recording alone, and their stability.

use relayout_profile::{Profile, ProfileMeta, RecordedRun, RunId};

use crate::finding::{Finding, share};
use crate::group::{self, LineGroup};

/// Weight by which a finding is ranked, in each recording alone.
pub(crate) type RunWeights = Vec<u64>;

/// Recordings of a profile: each is a run and the further processes that follow it.
pub(crate) struct RecordingIndex {
    by_run: Vec<usize>,
    /// Number of recordings.
    pub count: usize,
}

impl RecordingIndex {
    pub fn from_meta(meta: &ProfileMeta) -> Self {
        let mut count = 0;
        let mut recording_of = |run: &RecordedRun| {
            if count == 0 || !run.is_further_process() {
                count += 1;
            }
            count - 1
        };
        Self {
            by_run: meta.runs.iter().map(&mut recording_of).collect(),
            count,
        }
    }

    /// Returns the recording, from 0, that a run is of.
    pub fn recording_of(&self, run: RunId) -> Option<usize> {
        self.by_run.get(usize::from(run)).copied()
    }
}

pub(crate) fn transfers_by_run(group: &LineGroup, recordings: &RecordingIndex) -> RunWeights {
    let mut transfers = vec![0; recordings.count];
    for conflict in &group.conflicts {
        if let Some(recording) = recordings.recording_of(conflict.row.run) {
            transfers[recording] += group::row_tally(conflict.row).transfers();
        }
    }
    transfers
}

/// Returns the transfers in each recording: of its lines, or of its conflicts where those are more.
pub(crate) fn total_transfers(profile: &Profile, recordings: &RecordingIndex) -> RunWeights {
    let sum = |rows: &mut dyn Iterator<Item = (RunId, u64)>| {
        let mut transfers = vec![0; recordings.count];
        for (run, count) in rows {
            if let Some(recording) = recordings.recording_of(run) {
                transfers[recording] += count;
            }
        }
        transfers
    };
    let lines = profile.lines.iter();
    let lines = sum(&mut lines.map(|row| (row.run, row.read_transfers + row.write_transfers)));
    let conflicts = profile.conflicts.iter();
    let conflicts = sum(&mut conflicts.map(|row| (row.run, group::row_tally(row).transfers())));
    lines
        .into_iter()
        .zip(conflicts)
        .map(|(a, b)| a.max(b))
        .collect()
}

/// Returns the least and the largest value of several recordings; `None` with one.
pub(crate) fn range(by_recording: &[u64]) -> Option<[u64; 2]> {
    match by_recording {
        [] | [_] => None,
        values => Some([*values.iter().min()?, *values.iter().max()?]),
    }
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
