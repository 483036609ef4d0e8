//! Aligns one member to the cache line, so that it starts one.

use super::{LayoutChange, LayoutProposal, StartingShape};

/// Proposes it for every atom whose alignment is below the line size.
pub(super) fn propose(ground: &StartingShape<'_>, visit: &mut dyn FnMut(LayoutProposal)) {
    let current = ground.shape.current_arrangement();
    let below_line = |atom: &usize| ground.shape.atoms[*atom].align < ground.line;
    for atom in ground.movable().filter(below_line) {
        let mut arrangement = current.clone();
        arrangement.align[atom] = ground.line;
        let changes = vec![LayoutChange::AlignMember {
            atom,
            to: ground.line,
        }];
        visit(LayoutProposal {
            arrangement,
            pads: Vec::new(),
            changes,
        });
    }
}
