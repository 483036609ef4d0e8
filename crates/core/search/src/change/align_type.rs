//! Aligns the type: to the smallest power of two that holds it, so that no object crosses a line,
//! or to the line, so that all objects start one; to a pair of lines where those disturb each other.
//!
//! `struct __call_single_data` (24 bytes) aligned to 32 never crosses a line, and takes half the
//! memory of an alignment to 64.

use super::{LayoutChange, LayoutProposal, StartingShape};

/// Proposes the alignments; the first only where it is below the line size.
pub(super) fn propose(ground: &StartingShape<'_>, visit: &mut dyn FnMut(LayoutProposal)) {
    let current = ground.shape.current_arrangement();
    let layout = ground.shape.lay_out(&current);
    let holds = layout.size.max(1).next_power_of_two();
    let mut aligns = vec![holds.min(ground.line), ground.line];
    aligns.extend(ground.paired.then_some(2 * ground.line));
    aligns.dedup();
    aligns.retain(|align| *align > layout.align);
    for to in aligns {
        let mut arrangement = current.clone();
        arrangement.type_align = to;
        visit(LayoutProposal {
            arrangement,
            pads: Vec::new(),
            changes: vec![LayoutChange::AlignType { to }],
        });
    }
}
