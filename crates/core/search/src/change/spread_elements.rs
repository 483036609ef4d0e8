//! Spreads the elements of an array that is a member, where different contexts use them: each on
//! lines of its own, or, where contexts use runs of elements, each run.
//!
//! `long done[4]` with an element for each of four threads fills half a line, which every store
//! takes from the others. No order of the members changes that.

use relayout_contend::{RoundedRuns, are_runs};
use relayout_layout::abi::ElementSpread;

use super::{LayoutChange, LayoutProposal, StartingShape};
use crate::array_uses::UsedArray;

/// Largest array with lines for each element, in bytes.
const SPREAD_BYTES_MAX: u64 = 64 * 1024;

/// Proposes spreads of each array whose elements different contexts use.
pub(super) fn propose(ground: &StartingShape<'_>, visit: &mut dyn FnMut(LayoutProposal)) {
    for used in ground.arrays {
        for spread in spreads(ground, used) {
            let mut arrangement = ground.shape.current_arrangement();
            // A wrapper around the elements of a Rust field aligns the field.
            arrangement.align[used.atom] = spread.align;
            arrangement.spreads.push(spread);
            visit(LayoutProposal {
                changes: LayoutChange::leading_to(ground.shape, &arrangement),
                arrangement,
                pads: Vec::new(),
            });
        }
    }
}

fn spreads(ground: &StartingShape<'_>, used: &UsedArray) -> Vec<ElementSpread> {
    let UsedArray { atom, level, runs } = used;
    let line = ground.line;
    let mut spreads = Vec::new();
    if are_runs(runs) {
        let rounded = RoundedRuns::new(runs, level.stride, line);
        let start = |index| rounded.element(index) * level.stride;
        spreads.push(ElementSpread {
            atom: *atom,
            starts: (0..level.count).map(start).collect(),
            element_bytes: level.stride,
            size: rounded.count(level.count) * level.stride,
            align: line,
        });
    }
    let stride = level.stride.next_multiple_of(line);
    if stride > level.stride && level.count.saturating_mul(stride) <= SPREAD_BYTES_MAX {
        spreads.push(ElementSpread::with_stride(*atom, *level, stride, line));
        // Elements a line apart share none, wherever an allocation begins.
        let unaligned = ElementSpread::with_stride(*atom, *level, stride, 1);
        spreads.extend(ground.allocated.then_some(unaligned));
    }
    spreads
}
