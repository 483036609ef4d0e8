//! Moves two members: all pairs to all places, or the most promising part if those are too many.
//!
//! Most accepted fixes are one or two moves. `n` members allow about `n^4 / 2` pairs of moves, too
//! many to replay. So each is laid out and estimated, and the best of each size become candidates.
//! The estimate is as exact as replay where all objects begin at the same place of a line (see
//! `rewrite/recency_table.rs`). Pairs of accessed members come first, because the budget may end
//! before all pairs are tried.
//!
//! No pair is tried if a single change already reaches the lower bound of all layouts and makes the
//! type no larger: two changes cannot have fewer transfers.

use std::collections::BTreeMap;

use relayout_layout::abi::{AtomArrangement, StructLayout, StructShape};

use super::atom_placer::{AtomPlacer, PlacedExtent};
use super::{LayoutChange, LayoutProposal};
use crate::places::PhaseSet;
use crate::rewrite::TransferEstimator;

/// Number of layouts of each size that become candidates.
const KEPT_PER_SIZE: usize = 12;

/// Part of all pairs that is worth trying: one in this many.
const PAIRS_TRIED_PART: usize = 8;

/// Search over pairs of moves.
pub(crate) struct TwoMoveSearch<'a> {
    pub shape: &'a StructShape,
    /// Today's layout.
    pub current: &'a StructLayout,
    /// By atom: whether it is accessed.
    pub hot: &'a [bool],
    /// Atoms that have to stay.
    pub stays: &'a [usize],
    /// Function from size and alignment of the type to the phases at which its objects can begin.
    pub phases: &'a dyn Fn(PlacedExtent) -> PhaseSet,
    /// Function that tells whether an order and its layout may be a candidate.
    pub allowed: &'a dyn Fn(&[usize], &StructLayout) -> bool,
    /// Maximum number of layouts to estimate.
    pub layouts_max: usize,
}

/// Result of a search over pairs of moves.
pub(crate) struct TwoMoveOutcome {
    /// The best layouts of each size.
    pub proposals: Vec<LayoutProposal>,
    /// Number of layouts that were not estimated for lack of budget.
    pub left_out: usize,
}

impl TwoMoveSearch<'_> {
    /// Tries as many pairs as the budgets allow.
    pub fn try_pairs(&self, estimator: &mut TransferEstimator<'_>) -> TwoMoveOutcome {
        let pairs = self.pairs();
        let last_is_bound = self.shape.atoms.last().is_some_and(|atom| atom.flexible);
        let fixed = 2 + usize::from(last_is_bound);
        let places = self.shape.atoms.len().saturating_sub(fixed);
        let per_pair = (places + 1) * (places + 2);
        let affordable = (self.layouts_max / per_pair.max(1)).min(pairs.len());
        // A few pairs of a large struct find nothing that the small edits do not.
        let affordable = match affordable * PAIRS_TRIED_PART < pairs.len() {
            true => 0,
            false => affordable,
        };
        let mut placer = AtomPlacer::new(self.shape, self.current);
        let mut best = BestBySize::default();
        let mut done = 0;
        for pair in &pairs[..affordable] {
            if estimator.is_spent() {
                break;
            }
            self.try_pair(*pair, places, &mut placer, estimator, &mut best);
            done += 1;
        }
        TwoMoveOutcome {
            proposals: best.into_proposals(self.shape),
            left_out: (pairs.len() - done) * per_pair,
        }
    }

    /// Returns the pairs of atoms that may move: first pairs of accessed atoms, then those with
    /// one.
    fn pairs(&self) -> Vec<(usize, usize)> {
        let moves = |atom: &usize| {
            let own = &self.shape.atoms[*atom];
            own.size > 0 && !own.flexible && !self.stays.contains(atom)
        };
        let movable: Vec<usize> = (0..self.shape.atoms.len()).filter(moves).collect();
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        for (nth, a) in movable.iter().enumerate() {
            pairs.extend(movable[nth + 1..].iter().map(|b| (*a, *b)));
        }
        let hot = |atom: usize| usize::from(self.hot[atom]);
        pairs.sort_by_key(|(a, b)| 2 - hot(*a) - hot(*b));
        pairs
    }

    fn try_pair(
        &self,
        (a, b): (usize, usize),
        places: usize,
        placer: &mut AtomPlacer<'_>,
        estimator: &mut TransferEstimator<'_>,
        best: &mut BestBySize,
    ) {
        let rest: Vec<usize> = (0..self.shape.atoms.len())
            .filter(|atom| *atom != a && *atom != b)
            .collect();
        let mut arrangement = self.shape.current_arrangement();
        for first in 0..=places {
            for second in 0..=places + 1 {
                arrangement.order.clone_from(&rest);
                arrangement.order.insert(first, a);
                arrangement.order.insert(second, b);
                let extent = placer.place_arrangement(&arrangement);
                let phases = placer.phases(extent, self.phases);
                let transfers = estimator.transfers(placer.offsets(), phases);
                if !best.would_keep(extent.size, transfers) {
                    continue;
                }
                if (self.allowed)(&arrangement.order, &self.shape.lay_out(&arrangement)) {
                    best.keep(extent.size, transfers, arrangement.clone());
                }
            }
        }
    }
}

/// Orders with the fewest transfers by size of the type, fewest first.
#[derive(Default)]
struct BestBySize {
    by_size: BTreeMap<u64, Vec<(u64, AtomArrangement)>>,
}

impl BestBySize {
    fn would_keep(&self, size: u64, transfers: u64) -> bool {
        let Some(kept) = self.by_size.get(&size) else {
            return true;
        };
        kept.len() < KEPT_PER_SIZE || kept.last().is_some_and(|(most, _)| transfers < *most)
    }

    fn keep(&mut self, size: u64, transfers: u64, arrangement: AtomArrangement) {
        let kept = self.by_size.entry(size).or_default();
        let at = kept.partition_point(|(other, _)| *other <= transfers);
        kept.insert(at, (transfers, arrangement));
        kept.truncate(KEPT_PER_SIZE);
    }

    fn into_proposals(self, shape: &StructShape) -> Vec<LayoutProposal> {
        let kept = self.by_size.into_values().flatten();
        kept.map(|(_, arrangement)| LayoutProposal {
            changes: LayoutChange::leading_to(shape, &arrangement),
            arrangement,
            pads: Vec::new(),
        })
        .collect()
    }
}
