//! Ranks of findings in each recording alone, and their stability.

use relayout_profile::{Profile, ProfileMeta, RecordedRun, RunId};

use crate::finding::{Finding, share};
use crate::group::{self, LineGroup};

/// Weights by which a finding is ranked, in each recording alone.
#[derive(Clone, Debug)]
pub(crate) struct RunWeights {
    /// Time for which contexts stood still, in picoseconds; 0 in the host's order.
    pub wait_ps: Vec<u64>,
    /// Transfers, or the estimated cost of adjacent lines.
    pub transfers: Vec<u64>,
}

impl RunWeights {
    pub fn new(group: &LineGroup, recordings: &RecordingIndex) -> Self {
        let mut wait_ps: Vec<u64> = vec![0; recordings.count];
        for row in &group.waits {
            if let Some(recording) = recordings.recording_of(row.run) {
                wait_ps[recording] = wait_ps[recording].saturating_add(row.wait_ps);
            }
        }
        Self {
            wait_ps,
            transfers: transfers_by_run(group, recordings),
        }
    }

    /// Returns the weights of adjacent lines, for which nobody stands still.
    pub fn of_adjacent(costs: Vec<u64>) -> Self {
        Self {
            wait_ps: vec![0; costs.len()],
            transfers: costs,
        }
    }

    fn in_recording(&self, recording: usize) -> (u64, u64) {
        (self.wait_ps[recording], self.transfers[recording])
    }
}

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

fn transfers_by_run(group: &LineGroup, recordings: &RecordingIndex) -> Vec<u64> {
    let mut transfers = vec![0; recordings.count];
    for conflict in &group.conflicts {
        if let Some(recording) = recordings.recording_of(conflict.row.run) {
            transfers[recording] += group::row_tally(conflict.row).transfers();
        }
    }
    transfers
}

/// Returns the transfers in each recording: of its lines, or of its conflicts where those are more.
pub(crate) fn total_transfers(profile: &Profile, recordings: &RecordingIndex) -> Vec<u64> {
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
            let weights: Vec<(u64, u64)> = { findings.iter() }
                .map(|(_, by_run)| by_run.in_recording(run))
                .collect();
            let mut order: Vec<usize> = (0..weights.len()).collect();
            order.sort_by_key(|&at| std::cmp::Reverse(weights[at]));
            let mut ranks = vec![None; weights.len()];
            for (rank, at) in order.into_iter().enumerate() {
                ranks[at] = (weights[at].1 > 0).then_some(rank + 1);
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
