//! Gain on parts of the recording that did not choose the layout.
//!
//! The best of thousands of candidates fits the recording that it was chosen on. So the recordings,
//! or three stretches of a single one, take turns: candidates are chosen on the others, and counted
//! on one. The gain to promise is the worst.

use relayout_layout::abi::StructLayout;

use crate::advice::{RankedLayout, ScoredLayout};
use crate::score::{LayoutScorer, stretches};
use crate::subject::RecordedInstance;

/// Parts that a single recording is cut into.
const STRETCHES: usize = 3;
/// Candidates that are chosen from, by rank.
const CANDIDATES_MAX: usize = 24;
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
    /// Change by the first candidate.
    pub change: f64,
    /// Change by the candidate that is best on the other parts.
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

    /// Returns true if there are three parts at least.
    pub fn is_repeated(&self) -> bool {
        self.parts.len() >= STRETCHES
    }
}

/// Judges the `candidates` on parts of the recording. The first scorer is for `current`, the second
/// for the candidates; the recording is cut into about `count` stretches.
pub(crate) fn judge_parts(
    instances: &[RecordedInstance],
    [recorded_scorer, candidate_scorer]: [&LayoutScorer<'_>; 2],
    current: &ScoredLayout,
    candidates: &[RankedLayout],
    count: usize,
) -> JudgedParts {
    let candidates = &candidates[..candidates.len().min(CANDIDATES_MAX)];
    let (part_of_piece, are_recordings) = parts_of_pieces(instances, count);
    let part_count = part_of_piece.iter().max().map_or(0, |most| most + 1);
    let sums = |costs: &[u64]| -> Vec<u64> {
        let mut sums = vec![0_u64; part_count];
        for (part, cost) in part_of_piece.iter().zip(costs) {
            sums[*part] = sums[*part].saturating_add(*cost);
        }
        sums
    };
    let before = recorded_scorer.costs_by_stretch(&[&current.layout], count);
    let before = sums(&before.concat());
    let layouts: Vec<&StructLayout> = { candidates.iter() }
        .map(|candidate| &candidate.layout)
        .collect();
    let after: Vec<Vec<u64>> = { candidate_scorer.costs_by_stretch(&layouts, count) }
        .iter()
        .map(|costs| sums(costs))
        .collect();
    let change =
        |candidate: usize, part: usize| after[candidate][part] as f64 / before[part] as f64 - 1.0;
    let judged = (0..part_count).filter_map(|part| {
        if candidates.is_empty() || before[part] < TRANSFERS_MIN * crate::score::COST_UNITS {
            return None;
        }
        let elsewhere = |candidate: &usize| {
            let costs = after[*candidate].iter().enumerate();
            let others = costs.filter(|(other, _)| *other != part);
            let cost = others.map(|(_, cost)| *cost).fold(0, u64::saturating_add);
            (cost, *candidate)
        };
        let chosen = (0..candidates.len()).min_by_key(elsewhere)?;
        Some(JudgedPart {
            change: change(0, part),
            change_of_others_choice: change(chosen, part),
        })
    });
    JudgedParts {
        are_recordings,
        parts: judged.collect(),
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
