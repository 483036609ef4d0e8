//! Exchanges the members of two lines: what was done to `struct mem_cgroup`, so that what all read and
//! what all write are no longer on the two lines of a pair.
//!
//! No line's contents change, so it makes no difference but on processors that fetch pairs.

use super::{Ground, Proposal};
use crate::change::Change;

/// Every two lines, each with the members that start on it.
pub(crate) fn propose(ground: &Ground<'_>) -> Vec<Proposal> {
    let shape = ground.shape;
    let layout = shape.lay_out(&shape.current());
    let mut lines: Vec<Vec<usize>> = Vec::new();
    let mut last = None;
    for (atom, place) in layout.places.iter().enumerate() {
        if shape.atoms[atom].flexible {
            continue;
        }
        let line = place.offset / ground.line.max(1);
        match lines.last_mut().filter(|_| last == Some(line)) {
            Some(on) => on.push(atom),
            None => lines.push(vec![atom]),
        }
        last = Some(line);
    }
    let rest = (0..shape.atoms.len()).filter(|atom| shape.atoms[*atom].flexible);
    let rest: Vec<usize> = rest.collect();
    let mut proposals = Vec::new();
    for a in 0..lines.len() {
        for b in a + 1..lines.len() {
            let mut blocks = lines.clone();
            blocks.swap(a, b);
            let mut arrangement = shape.current();
            arrangement.order = blocks
                .into_iter()
                .flatten()
                .chain(rest.iter().copied())
                .collect();
            proposals.push(Proposal {
                changes: Change::all(shape, &arrangement),
                arrangement,
            });
        }
    }
    proposals
}
