//! Small edits, step by step: the best single changes, then the best change after each of those,
//! then a third.
//!
//! A full rewrite moves dozens of members, and a maintainer takes two or three. All pairs of moves
//! are too many for a large struct ([`two_moves`](super::two_moves)), and all triples for any. So
//! each step extends the few best layouts of the step before by every move of one member and every
//! alignment, estimates all of them, and keeps the best. Layouts that are no larger than today's
//! and layouts that grow are kept apart, since growth often buys transfers.

use relayout_layout::abi::{AtomArrangement, StructLayout, StructShape};

use super::atom_placer::{AtomPlacer, PlacedExtent};
use super::{LayoutChange, LayoutProposal};
use crate::order;
use crate::places::PhaseSet;
use crate::rewrite::TransferEstimator;
use crate::source_blocks::SourceBlocks;

/// Changes of a small edit at most.
const STEPS_MAX: usize = 3;
/// Layouts that each step extends, no larger than today's.
const EXTENDED_SAME_SIZE: usize = 5;
/// Layouts that each step extends, larger than today's.
const EXTENDED_LARGER: usize = 3;
/// Layouts of each step and kind that become candidates.
const KEPT: usize = 16;

/// Search for small edits.
pub(crate) struct SmallEditSearch<'a> {
    pub shape: &'a StructShape,
    /// Today's layout.
    pub current: &'a StructLayout,
    /// Size of a cache line in bytes.
    pub line: u64,
    /// Atoms that move or are aligned.
    pub movable: &'a [usize],
    /// Atoms that have to stay.
    pub stays: &'a [usize],
    pub blocks: &'a SourceBlocks,
    /// Function from size and alignment of the type to the phases at which its objects can begin.
    pub phases: &'a dyn Fn(PlacedExtent) -> PhaseSet,
    /// Function that tells whether an order, with its layout, may be a candidate.
    pub allowed: &'a dyn Fn(&[usize], &StructLayout) -> bool,
}

/// A layout with its estimate.
#[derive(Clone, Debug)]
pub(crate) struct EstimatedLayout {
    pub arrangement: AtomArrangement,
    pub transfers: u64,
    pub size: u64,
}

/// Best layouts of a step with distinct estimates, fewest transfers first.
struct BestOfStep {
    layouts: Vec<(u64, u64, usize, AtomArrangement)>,
}

impl BestOfStep {
    fn new() -> Self {
        Self {
            layouts: Vec::with_capacity(KEPT + 1),
        }
    }

    /// Returns true if a layout would be kept; `cuts` counts what it cuts apart in the source.
    fn would_keep(&self, transfers: u64, size: u64, cuts: impl FnOnce() -> usize) -> bool {
        let key = (transfers, size);
        match self
            .layouts
            .binary_search_by_key(&key, |kept| (kept.0, kept.1))
        {
            Ok(place) => cuts() < self.layouts[place].2,
            Err(place) => place < KEPT,
        }
    }

    /// Keeps a layout. Of those with the same estimate and size it keeps the one with the fewest
    /// `cuts`.
    fn keep(&mut self, transfers: u64, size: u64, cuts: usize, arrangement: AtomArrangement) {
        let key = (transfers, size);
        let found = self
            .layouts
            .binary_search_by_key(&key, |kept| (kept.0, kept.1));
        match found {
            Ok(place) if self.layouts[place].2 <= cuts => {}
            Ok(place) => self.layouts[place] = (transfers, size, cuts, arrangement),
            Err(place) => self
                .layouts
                .insert(place, (transfers, size, cuts, arrangement)),
        }
        self.layouts.truncate(KEPT);
    }

    fn into_estimated(self) -> impl Iterator<Item = EstimatedLayout> {
        let layouts = self.layouts.into_iter();
        layouts.map(|(transfers, size, _, arrangement)| EstimatedLayout {
            arrangement,
            transfers,
            size,
        })
    }
}

impl SmallEditSearch<'_> {
    /// Returns the best layouts of two and of three changes. `singles` are layouts of one change
    /// with their estimates.
    pub fn extend_singles(
        &self,
        singles: Vec<EstimatedLayout>,
        estimator: &mut TransferEstimator<'_>,
    ) -> Vec<LayoutProposal> {
        let mut placer = AtomPlacer::new(self.shape, self.current);
        let mut proposals = Vec::new();
        let mut extended = self.select_distinct(singles);
        for _ in 1..STEPS_MAX {
            let (mut same_size, mut larger) = (BestOfStep::new(), BestOfStep::new());
            for state in &extended {
                if estimator.is_spent() {
                    break;
                }
                self.for_each_extension(&state.arrangement, |arrangement| {
                    let extent = placer.place_arrangement(arrangement);
                    if !self.are_pinned_in_place(placer.offsets()) {
                        return;
                    }
                    let phases = placer.phases(extent, self.phases);
                    let transfers = estimator.transfers(placer.offsets(), phases);
                    let best = match extent.size <= self.current.size {
                        true => &mut same_size,
                        false => &mut larger,
                    };
                    let cuts = || self.blocks.cuts(arrangement);
                    if best.would_keep(transfers, extent.size, cuts)
                        && (self.allowed)(&arrangement.order, &self.shape.lay_out(arrangement))
                    {
                        best.keep(transfers, extent.size, cuts(), arrangement.clone());
                    }
                });
            }
            let found: Vec<EstimatedLayout> = same_size
                .into_estimated()
                .chain(larger.into_estimated())
                .collect();
            proposals.extend(found.iter().map(|found| LayoutProposal {
                changes: LayoutChange::leading_to(self.shape, &found.arrangement),
                arrangement: found.arrangement.clone(),
                pads: Vec::new(),
            }));
            extended = self.select_distinct(found);
        }
        proposals
    }

    /// Returns the layouts that the next step extends, with distinct estimates.
    fn select_distinct(&self, mut layouts: Vec<EstimatedLayout>) -> Vec<EstimatedLayout> {
        layouts.sort_by_key(|layout| {
            let cuts = self.blocks.cuts(&layout.arrangement);
            (layout.transfers, layout.size, cuts)
        });
        layouts.dedup_by_key(|layout| layout.transfers);
        let (same_size, larger): (Vec<_>, Vec<_>) =
            { layouts.into_iter() }.partition(|layout| layout.size <= self.current.size);
        let same_size = same_size.into_iter().take(EXTENDED_SAME_SIZE);
        same_size
            .chain(larger.into_iter().take(EXTENDED_LARGER))
            .collect()
    }

    fn are_pinned_in_place(&self, offsets: &[u64]) -> bool {
        let mut pinned = self.stays.iter();
        pinned.all(|atom| offsets[*atom] == self.current.places[*atom].offset)
    }

    /// Calls `visit` with each layout that is one change further than `from`.
    fn for_each_extension(&self, from: &AtomArrangement, mut visit: impl FnMut(&AtomArrangement)) {
        let flexible = self.shape.atoms.last().is_some_and(|atom| atom.flexible);
        let places = from.order.len() - usize::from(flexible);
        let mut arrangement = from.clone();
        for &atom in self.movable {
            if self.stays.contains(&atom) {
                continue;
            }
            let Some(own_place) = from.order.iter().position(|other| *other == atom) else {
                continue;
            };
            arrangement.order.remove(own_place);
            for place in (0..places).filter(|place| *place != own_place) {
                arrangement.order.insert(place, atom);
                visit(&arrangement);
                arrangement.order.remove(place);
            }
            arrangement.order.insert(own_place, atom);
            if self.shape.atoms[atom].align.max(from.align[atom]) < self.line {
                let unaligned = std::mem::replace(&mut arrangement.align[atom], self.line);
                visit(&arrangement);
                arrangement.align[atom] = unaligned;
            }
        }
    }
}

/// Returns smaller edits on the way from `rewrite` back to today's layout: again and again the
/// change whose absence costs least is taken back. `estimate` returns size and transfers.
pub(crate) fn undo_changes(
    shape: &StructShape,
    rewrite: &AtomArrangement,
    mut estimate: impl FnMut(&AtomArrangement) -> (u64, u64),
) -> Vec<AtomArrangement> {
    let today = shape.current_arrangement();
    let mut arrangement = rewrite.clone();
    let mut steps = Vec::new();
    loop {
        let options = smaller_edits(&today, &arrangement);
        let best = { options.into_iter() }.min_by_key(|option| {
            let (size, transfers) = estimate(option);
            (transfers, size)
        });
        match best {
            Some(best) if best != today => {
                steps.push(best.clone());
                arrangement = best;
            }
            _ => return steps,
        }
    }
}

/// Returns the layouts that lack one of the changes from `today` to `arrangement`.
fn smaller_edits(today: &AtomArrangement, arrangement: &AtomArrangement) -> Vec<AtomArrangement> {
    let moved = order::moved_atoms(&today.order, &arrangement.order);
    let mut smaller = Vec::new();
    for &atom in &moved {
        let mut option = arrangement.clone();
        option.order.retain(|other| *other != atom);
        let unmoved_above = { (0..atom).rev() }.find(|above| !moved.contains(above));
        let place = unmoved_above
            .and_then(|above| option.order.iter().position(|other| *other == above))
            .map_or(0, |place| place + 1);
        option.order.insert(place, atom);
        smaller.push(option);
    }
    for atom in 0..arrangement.align.len() {
        if arrangement.align[atom] > today.align[atom] {
            let mut option = arrangement.clone();
            option.align[atom] = today.align[atom];
            smaller.push(option);
        }
    }
    if arrangement.type_align > today.type_align {
        smaller.push(AtomArrangement {
            type_align: today.type_align,
            ..arrangement.clone()
        });
    }
    smaller
}

#[cfg(test)]
mod tests {
    use relayout_layout::abi::AtomArrangement;

    use super::*;

    fn arrangement(order: &[usize]) -> AtomArrangement {
        AtomArrangement {
            order: order.to_vec(),
            align: vec![1; order.len()],
            type_align: 1,
            spreads: Vec::new(),
            run_align: 1,
        }
    }

    #[test]
    fn each_smaller_edit_lacks_one_change() {
        let today = arrangement(&[0, 1, 2, 3, 4]);
        let mut rewrite = arrangement(&[3, 0, 4, 1, 2]);
        rewrite.align[2] = 64;
        rewrite.type_align = 64;
        let smaller = smaller_edits(&today, &rewrite);
        let moves = |arrangement: &AtomArrangement| {
            order::moved_atoms(&today.order, &arrangement.order).len()
        };
        assert_eq!(moves(&rewrite), 2);
        let forced = |arrangement: &AtomArrangement| {
            usize::from(arrangement.align[2] > 1) + usize::from(arrangement.type_align > 1)
        };
        assert_eq!(smaller.len(), 4);
        for option in &smaller {
            assert_eq!(moves(option) + forced(option), 3, "{option:?}");
        }
        assert_eq!(smaller_edits(&today, &today), []);
    }

    #[test]
    fn equal_estimates_are_kept_once_with_the_fewest_cuts() {
        let mut best = BestOfStep::new();
        best.keep(10, 64, 3, arrangement(&[0, 1]));
        assert!(!best.would_keep(10, 64, || 3));
        assert!(best.would_keep(10, 64, || 1));
        best.keep(10, 64, 1, arrangement(&[1, 0]));
        let kept: Vec<EstimatedLayout> = best.into_estimated().collect();
        assert_eq!(kept.len(), 1);
        assert_eq!(kept[0].arrangement.order, [1, 0]);
    }
}
