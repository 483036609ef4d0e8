//! Moves one member to another place: `a b c d` to `a d b c`.

use super::{LayoutChange, LayoutProposal, StartingShape};

/// Proposes every atom at every other place; a swap of neighbours is proposed once.
pub(super) fn propose(ground: &StartingShape<'_>, visit: &mut dyn FnMut(LayoutProposal)) {
    let current = ground.shape.current_arrangement();
    let count = current.order.len();
    let last_is_bound = ground.shape.atoms.last().is_some_and(|atom| atom.flexible);
    let places = count - usize::from(last_is_bound);
    for atom in ground.movable() {
        // A move down by one place is the neighbour's move up.
        for place in (0..places).filter(|place| *place != atom && *place != atom + 1) {
            let mut arrangement = current.clone();
            arrangement.order.remove(atom);
            arrangement.order.insert(place, atom);
            let after = place.checked_sub(1).map(|before| arrangement.order[before]);
            visit(LayoutProposal {
                arrangement,
                pads: Vec::new(),
                changes: vec![LayoutChange::Move { atom, after }],
            });
        }
    }
}
