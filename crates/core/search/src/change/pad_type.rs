//! Pads the type at its end to whole cache lines, so that neighbours in an array have lines of
//! their own wherever the allocation begins.
//!
//! `malloc` gives no alignment beyond 16 bytes. Padding needs none: with 64 bytes from one
//! `struct queue` of 16 to the next, no two share a line, whatever the first byte's address is.

use relayout_layout::abi::PaddingMember;

use super::{LayoutChange, LayoutProposal, StartingShape};

/// Proposes the next whole number of lines and one line more, for types in allocated memory.
pub(super) fn propose(ground: &StartingShape<'_>, visit: &mut dyn FnMut(LayoutProposal)) {
    let arrangement = ground.shape.current_arrangement();
    let is_flexible = ground.shape.atoms.last().is_none_or(|atom| atom.flexible);
    if !ground.allocated || is_flexible {
        return;
    }
    let layout = ground.shape.lay_out(&arrangement);
    let end = layout.places.iter().map(|place| place.end).max();
    let end = end.unwrap_or(0);
    let whole = layout.size.max(1).next_multiple_of(ground.line);
    let sizes = [whole, whole + ground.line];
    for size in sizes.into_iter().filter(|size| *size > layout.size) {
        let bytes = size - end;
        visit(LayoutProposal {
            pads: vec![PaddingMember {
                position: arrangement.order.len(),
                size: bytes,
                align: 1,
            }],
            arrangement: arrangement.clone(),
            changes: vec![LayoutChange::Pad {
                before: None,
                bytes,
            }],
        });
    }
}
