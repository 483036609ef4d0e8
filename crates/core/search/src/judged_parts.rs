//! Gain on parts of the recording that did not choose the layout.
//!
//! The best of thousands of candidates fits the recording that it was chosen on. So the recordings,
//! or three stretches of a single one, take turns: candidates are chosen on the others, and counted
//! on one, among those whose edit is no larger than that of the judged candidate. The gain to promise
//! is the worst.

use std::collections::{BTreeMap, BTreeSet};

use relayout_layout::abi::StructLayout;

use crate::advice::{RankedLayout, ScoredLayout};
use crate::score::{COST_UNITS, LayoutScorer, stretches};
use crate::subject::RecordedInstance;

/// Parts that a single recording is cut into.
const STRETCHES: usize = 3;
/// Candidates that a judged one is chosen from, besides itself.
const RIVALS_MAX: usize = 8;
/// Transfers that a part needs to be judged.
const TRANSFERS_MIN: u64 = 10;

/// Changes of the transfers on parts of the recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JudgedParts {
    /// True if the parts are recordings, false if they are stretches of one.
    pub are_recordings: bool,
    /// Changes on the parts that have enough transfers.
    pub parts: Vec<JudgedPart>,
}

/// Changes of the transfers on one part, as fractions: -0.2 is a fifth less.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgedPart {
    /// Change by the judged candidate.
    pub change: f64,
    /// Change by the candidate that is best on the other parts, of those with no larger an edit.
    pub change_of_others_choice: f64,
}

impl JudgedParts {
    /// Returns the smallest gain of the parts; `None` if none was judged.
    ///
    /// ```
    /// use relayout_search::{JudgedPart, JudgedParts};
    ///
    /// let part = |change, change_of_others_choice| JudgedPart { change, change_of_others_choice };
    /// let parts = vec![part(-0.4, -0.1), part(-0.3, -0.3)];
    /// let judged = JudgedParts { are_recordings: true, parts };
    /// assert_eq!(judged.worst(), Some(-0.1));
    /// ```
    pub fn worst(&self) -> Option<f64> {
        let changes =
            { self.parts.iter() }.map(|part| part.change.max(part.change_of_others_choice));
        changes.reduce(f64::max)
    }

    /// Returns true if some part shows no gain. What gains nothing where it was not chosen is not
    /// recommended.
    ///
    /// ```
    /// use relayout_search::{JudgedPart, JudgedParts};
    ///
    /// let part = |change, change_of_others_choice| JudgedPart { change, change_of_others_choice };
    /// let parts = vec![part(-0.4, -0.4), part(-0.3, 0.325)];
    /// assert!(JudgedParts { are_recordings: false, parts }.lacks_gain());
    /// // Without parts, nothing contradicts the gain.
    /// assert!(!JudgedParts::default().lacks_gain());
    /// ```
    pub fn lacks_gain(&self) -> bool {
        self.worst().is_some_and(|worst| worst >= 0.0)
    }

    /// Returns true if there are three parts at least.
    pub fn is_repeated(&self) -> bool {
        self.parts.len() >= STRETCHES
    }
}

/// Judges those of the `candidates` that have an interval on parts of the recording. The first
/// scorer is for `current`, the second for the candidates; the recording is cut into about `count`
/// stretches.
pub(crate) fn judge_candidates(
    instances: &[RecordedInstance],
    [recorded_scorer, candidate_scorer]: [&LayoutScorer<'_>; 2],
    current: &ScoredLayout,
    candidates: &mut [RankedLayout],
    count: usize,
) {
    let rivals: Vec<(usize, Vec<usize>)> = { 0..candidates.len() }
        .filter(|index| candidates[*index].interval.is_some())
        .map(|index| (index, rivals_of(candidates, index)))
        .collect();
    let costed: BTreeSet<usize> = { rivals.iter() }
        .flat_map(|(_, of_candidate)| of_candidate.iter().copied())
        .collect();
    if costed.is_empty() {
        return;
    }
    let partition = RecordingPartition::new(instances, count);
    let before = recorded_scorer.costs_by_stretch(&[&current.layout], count);
    let layouts: Vec<&StructLayout> = { costed.iter() }
        .map(|index| &candidates[*index].layout)
        .collect();
    let after = candidate_scorer.costs_by_stretch(&layouts, count);
    let after = after.iter().map(|costs| partition.sums(costs));
    let costs = PartCosts {
        before: partition.sums(&before.concat()),
        after: costed.into_iter().zip(after).collect(),
    };
    for (index, of_candidate) in rivals {
        candidates[index].parts = JudgedParts {
            are_recordings: partition.are_recordings,
            parts: costs.judge(index, &of_candidate),
        };
    }
}

/// Returns the candidates that the choice of one was made from: itself, and the first by rank whose
/// edit is no larger in any way.
fn rivals_of(candidates: &[RankedLayout], index: usize) -> Vec<usize> {
    let size = |candidate: &RankedLayout| {
        let bytes = candidate.memory.bytes_per_object;
        [
            candidate.moved as u64,
            candidate.changes.len() as u64,
            bytes,
        ]
    };
    let own = size(&candidates[index]);
    let is_rival = |other: &usize| {
        let sizes = size(&candidates[*other]).into_iter().zip(own);
        *other != index && sizes.into_iter().all(|(other, own)| other <= own)
    };
    let others = { 0..candidates.len() }.filter(is_rival).take(RIVALS_MAX);
    std::iter::once(index).chain(others).collect()
}

/// Costs on each part of the recording.
struct PartCosts {
    /// By part: of today's layout.
    before: Vec<u64>,
    /// By candidate and part.
    after: BTreeMap<usize, Vec<u64>>,
}

impl PartCosts {
    /// Returns the changes by a candidate, and by the best of its rivals on the other parts, on each
    /// part that has enough transfers.
    fn judge(&self, index: usize, rivals: &[usize]) -> Vec<JudgedPart> {
        let change = |candidate: usize, part: usize| {
            self.after[&candidate][part] as f64 / self.before[part] as f64 - 1.0
        };
        let cost_elsewhere = |candidate: usize, part: usize| {
            let costs = self.after[&candidate].iter().enumerate();
            let others = costs.filter(|(other, _)| *other != part);
            others.fold(0, |sum: u64, (_, cost)| sum.saturating_add(*cost))
        };
        { 0..self.before.len() }
            .filter(|part| self.before[*part] >= TRANSFERS_MIN * COST_UNITS)
            .filter_map(|part| {
                let rank = |rival: &&usize| cost_elsewhere(**rival, part);
                let chosen = rivals.iter().min_by_key(rank)?;
                Some(JudgedPart {
                    change: change(index, part),
                    change_of_others_choice: change(*chosen, part),
                })
            })
            .collect()
    }
}

/// Partition of a recording: the recordings that it consists of, or three stretches of a single one.
struct RecordingPartition {
    /// Part of each stretch.
    part_of_piece: Vec<usize>,
    /// Number of parts.
    count: usize,
    /// True if parts are recordings.
    are_recordings: bool,
}

impl RecordingPartition {
    fn new(instances: &[RecordedInstance], count: usize) -> Self {
        let (part_of_piece, are_recordings) = parts_of_pieces(instances, count);
        Self {
            count: part_of_piece.iter().max().map_or(0, |most| most + 1),
            part_of_piece,
            are_recordings,
        }
    }

    /// Returns the sum of the costs of the stretches, by part.
    fn sums(&self, costs: &[u64]) -> Vec<u64> {
        let mut sums = vec![0_u64; self.count];
        for (part, cost) in self.part_of_piece.iter().zip(costs) {
            sums[*part] = sums[*part].saturating_add(*cost);
        }
        sums
    }
}

/// Returns the part of each stretch, and true if parts are recordings.
fn parts_of_pieces(instances: &[RecordedInstance], count: usize) -> (Vec<usize>, bool) {
    let pieces: Vec<usize> = { stretches(instances, count).into_iter() }
        .map(|(instance, _)| instance)
        .collect();
    let mut recordings: Vec<_> = { instances.iter() }
        .map(|instance| instance.recording)
        .collect();
    recordings.sort_unstable();
    recordings.dedup();
    if recordings.len() > 1 {
        let part = |instance: &usize| {
            let recording = instances[*instance].recording;
            recordings.binary_search(&recording).unwrap_or(0)
        };
        return (pieces.iter().map(part).collect(), true);
    }
    let mut parts = Vec::with_capacity(pieces.len());
    for run in pieces.chunk_by(|a, b| a == b) {
        let single = run[0] % STRETCHES;
        parts.extend((0..run.len()).map(|nth| match run.len() < STRETCHES {
            true => (single + nth) % STRETCHES,
            false => nth * STRETCHES / run.len(),
        }));
    }
    (parts, false)
}
