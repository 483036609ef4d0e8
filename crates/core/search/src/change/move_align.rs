//! Moves one member, and aligns it or the member behind it to the cache line.
//!
//! The accepted patch to `struct pcpu_chunk` did the latter: it moved `bound_map` to before
//! `base_addr`, and aligned `base_addr`.

use super::{LayoutChange, LayoutProposal, StartingShape, move_member};

/// Proposes both for every move of one member.
pub(super) fn propose(ground: &StartingShape<'_>, visit: &mut dyn FnMut(LayoutProposal)) {
    let mut add_alignments = |moved: LayoutProposal| {
        let Some(LayoutChange::Move { atom, .. }) = moved.changes.first().cloned() else {
            return;
        };
        let order = &moved.arrangement.order;
        let place = order.iter().position(|other| *other == atom);
        let next = place.and_then(|place| order.get(place + 1)).copied();
        for aligned in [Some(atom), next].into_iter().flatten() {
            let target = &ground.shape.atoms[aligned];
            if target.align >= ground.line || target.size == 0 {
                continue;
            }
            let mut proposal = moved.clone();
            proposal.arrangement.align[aligned] = ground.line;
            proposal.changes.push(LayoutChange::AlignMember {
                atom: aligned,
                to: ground.line,
            });
            visit(proposal);
        }
    };
    move_member::propose(ground, &mut add_alignments);
}
