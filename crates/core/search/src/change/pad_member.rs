//! Pads in front of a member, for types in memory of an allocator that knows nothing of their
//! alignment.
//!
//! `malloc` begins an object at any multiple of 16 bytes, so an aligned member would need another
//! call. A line of padding needs none: what is in front of it and what is behind it share no line,
//! wherever the object begins.

use relayout_layout::abi::{AtomArrangement, PaddingMember};

use super::{LayoutChange, LayoutProposal, StartingShape};

/// Proposes a line of padding in front of each member, where it is and at the end.
pub(super) fn propose(ground: &StartingShape<'_>, visit: &mut dyn FnMut(LayoutProposal)) {
    if !ground.allocated {
        return;
    }
    let today = ground.shape.current_arrangement();
    let has_flexible = ground.shape.atoms.iter().any(|atom| atom.flexible);
    for atom in ground.movable() {
        let Some(place) = today.order.iter().position(|other| *other == atom) else {
            continue;
        };
        if place > 0 {
            visit(padded(ground, today.clone(), place, Vec::new()));
        }
        let is_last = place + 1 == today.order.len();
        let last = today.order.last().copied().filter(|_| !is_last);
        if let Some(last) = last.filter(|_| !has_flexible) {
            let mut arrangement = today.clone();
            arrangement.order.remove(place);
            arrangement.order.push(atom);
            let moved = LayoutChange::Move {
                atom,
                after: Some(last),
            };
            let end = arrangement.order.len() - 1;
            visit(padded(ground, arrangement, end, vec![moved]));
        }
    }
}

/// Adds a line of padding in front of the member at `position`.
fn padded(
    ground: &StartingShape<'_>,
    arrangement: AtomArrangement,
    position: usize,
    mut changes: Vec<LayoutChange>,
) -> LayoutProposal {
    changes.push(LayoutChange::Pad {
        before: Some(arrangement.order[position]),
        bytes: ground.line,
    });
    LayoutProposal {
        pads: vec![PaddingMember {
            position,
            size: ground.line,
            align: 1,
        }],
        arrangement,
        changes,
    }
}
