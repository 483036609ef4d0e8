//! Moves two members: all pairs to all places, or the most promising part where those are too many.
//!
//! Most accepted fixes are one or two moves. For `n` members there are about `n^4 / 2` ways, too many to
//! replay, so each is laid out and estimated (which is as exact as replay where all objects begin at
//! the same place of a line, see `rewrite/table.rs`), and the best of each size are handed on. Pairs of
//! accessed members come first, since a budget may end before all are tried.
//!
//! None is tried where one change alone already has as few transfers as the lower bound of all
//! layouts and makes the type no larger: two cannot have fewer.

use std::collections::BTreeMap;

use relayout_layout::abi::{AtomArrangement, LayoutAtom, StructLayout, StructShape};
use rustc_hash::FxHashMap;

use super::{LayoutChange, LayoutProposal};
use crate::rewrite::TransferEstimator;

/// Layouts of one size that are handed on.
const KEPT_PER_SIZE: usize = 12;

/// What to try.
pub(crate) struct TwoMoveSearch<'a> {
    pub shape: &'a StructShape,
    /// Today's layout.
    pub current: &'a StructLayout,
    /// By atom: accessed.
    pub hot: &'a [bool],
    /// Atoms that stay.
    pub stays: &'a [usize],
    /// Where objects of a type of so many bytes and so aligned would begin, modulo the line.
    pub phase: &'a dyn Fn(u64, u64) -> u32,
    /// Whether a layout may be a candidate.
    pub allowed: &'a dyn Fn(&StructLayout) -> bool,
    /// Layouts to estimate at most.
    pub layouts_max: usize,
}

/// What was looked at.
pub(crate) struct TwoMoveOutcome {
    /// The best of each size.
    pub proposals: Vec<LayoutProposal>,
    /// Layouts that were not estimated for lack of budget.
    pub left_out: usize,
}

impl TwoMoveSearch<'_> {
    /// Tries as many as the budgets allow.
    pub fn try_pairs(&self, estimator: &mut TransferEstimator<'_>) -> TwoMoveOutcome {
        let pairs = self.pairs();
        let last_is_bound = self.shape.atoms.last().is_some_and(|atom| atom.flexible);
        let fixed = 2 + usize::from(last_is_bound);
        let places = self.shape.atoms.len().saturating_sub(fixed);
        let per_pair = (places + 1) * (places + 2);
        let affordable = (self.layouts_max / per_pair.max(1)).min(pairs.len());
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

    /// Pairs of atoms that move; first those of two that are accessed, then of one.
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
        let mut order = Vec::with_capacity(self.shape.atoms.len());
        for first in 0..=places {
            for second in 0..=places + 1 {
                order.clone_from(&rest);
                order.insert(first, a);
                order.insert(second, b);
                let size = placer.place_atoms(&order);
                let phase = placer.phase(size, self.phase);
                let transfers = estimator.transfers(&placer.offsets, phase);
                if !best.would_keep(size, transfers) {
                    continue;
                }
                let arrangement = AtomArrangement {
                    order: order.clone(),
                    ..self.shape.current_arrangement()
                };
                if (self.allowed)(&self.shape.lay_out(&arrangement)) {
                    best.keep(size, transfers, arrangement);
                }
            }
        }
    }
}

/// Places atoms as the engine does, without what it says beside their offsets.
struct AtomPlacer<'a> {
    shape: &'a StructShape,
    /// Bytes and alignment by atom; `None` where there is more to a layout than those.
    plain: Option<Vec<(u64, u64)>>,
    /// Alignment of the type, which an order does not change.
    align: u64,
    offsets: Vec<u64>,
    phases: FxHashMap<u64, u32>,
}

impl<'a> AtomPlacer<'a> {
    fn new(shape: &'a StructShape, current: &StructLayout) -> Self {
        let mut placer = Self {
            shape,
            plain: Some(
                shape
                    .atoms
                    .iter()
                    .map(|atom| (atom.size, atom.align.max(1)))
                    .collect(),
            ),
            align: current.align.max(1),
            offsets: vec![0; shape.atoms.len()],
            phases: FxHashMap::default(),
        };
        let order: Vec<usize> = (0..shape.atoms.len()).collect();
        let size = placer.place_atoms(&order);
        let places = current.places.iter().zip(&placer.offsets);
        let same =
            size == current.size && places.into_iter().all(|(place, at)| place.offset == *at);
        if !same || shape.atoms.iter().any(LayoutAtom::is_bitfields) {
            placer.plain = None;
        }
        placer
    }

    /// Sets the offsets; gives the size.
    fn place_atoms(&mut self, order: &[usize]) -> u64 {
        let Some(plain) = &self.plain else {
            let layout = self.shape.lay_out(&AtomArrangement {
                order: order.to_vec(),
                ..self.shape.current_arrangement()
            });
            let places = layout.places.iter().zip(&mut self.offsets);
            places.for_each(|(place, offset)| *offset = place.offset);
            return layout.size;
        };
        let mut end = 0u64;
        for &atom in order {
            let (bytes, align) = plain[atom];
            // Alignments are powers of two.
            let offset = (end + align - 1) & !(align - 1);
            self.offsets[atom] = offset;
            end = offset + bytes;
        }
        end.next_multiple_of(self.align)
    }

    fn phase(&mut self, size: u64, phase: &dyn Fn(u64, u64) -> u32) -> u32 {
        let align = self.align;
        *self
            .phases
            .entry(size)
            .or_insert_with(|| phase(size, align))
    }
}

/// By size: the orders with the fewest transfers, fewest first.
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
        })
        .collect()
    }
}
