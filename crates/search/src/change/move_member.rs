//! Moves one member to another place: `a b c d` to `a d b c`.

use super::{Change, Ground, Proposal};

/// Every atom to every other place; swapping neighbours is tried once.
pub(super) fn propose(ground: &Ground<'_>) -> Vec<Proposal> {
    let current = ground.shape.current();
    let count = current.order.len();
    let last_is_bound = ground.shape.atoms.last().is_some_and(|atom| atom.flexible);
    let places = count - usize::from(last_is_bound);
    let mut proposals = Vec::new();
    for atom in ground.movable() {
        // Moving down by one is moving the neighbour up by one.
        for place in (0..places).filter(|place| *place != atom && *place != atom + 1) {
            let mut arrangement = current.clone();
            arrangement.order.remove(atom);
            arrangement.order.insert(place, atom);
            let after = place.checked_sub(1).map(|before| arrangement.order[before]);
            proposals.push(Proposal {
                arrangement,
                changes: vec![Change::Move { atom, after }],
            });
        }
    }
    proposals
}
