//! Aligns one member to the cache line, so that it starts one.

use super::{LayoutChange, LayoutProposal, StartingShape};

/// Proposes it for every atom whose alignment is below the line size.
pub(super) fn propose(ground: &StartingShape<'_>) -> Vec<LayoutProposal> {
    let current = ground.shape.current_arrangement();
    ground
        .movable()
        .filter(|atom| ground.shape.atoms[*atom].align < ground.line)
        .map(|atom| {
            let mut arrangement = current.clone();
            arrangement.align[atom] = ground.line;
            let changes = vec![LayoutChange::AlignMember {
                atom,
                to: ground.line,
            }];
            LayoutProposal {
                arrangement,
                pads: Vec::new(),
                changes,
            }
        })
        .collect()
}
