//! Aligns one member to the cache line, so that it starts one.

use super::{Change, Ground, Proposal};

/// Every atom whose alignment is below the line.
pub(super) fn propose(ground: &Ground<'_>) -> Vec<Proposal> {
    let current = ground.shape.current();
    ground
        .movable()
        .filter(|atom| ground.shape.atoms[*atom].align < ground.line)
        .map(|atom| {
            let mut arrangement = current.clone();
            arrangement.align[atom] = ground.line;
            let changes = vec![Change::AlignMember {
                atom,
                to: ground.line,
            }];
            Proposal {
                arrangement,
                changes,
            }
        })
        .collect()
}
