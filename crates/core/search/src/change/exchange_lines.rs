//! Exchanges the members of two lines, or moves those of one line elsewhere. An accepted patch to
//! `struct mem_cgroup` did that, so that members that all CPUs read and members that all write are
//! no longer on the two lines of a pair.
//!
//! No line's contents change, so that it matters only on processors that fetch pairs of lines.

use super::{LayoutProposal, StartingShape};
use crate::change::LayoutChange;

/// Proposes it for every line with accessed members against each other line. A line consists of the
/// members that start on it.
pub(crate) fn propose(ground: &StartingShape<'_>, accessed: &[bool]) -> Vec<LayoutProposal> {
    let lines = atoms_by_line(ground);
    let is_hot = |line: &Vec<usize>| line.iter().any(|atom| accessed[*atom]);
    let hot: Vec<bool> = lines.iter().map(is_hot).collect();
    let mut proposals = Vec::new();
    for a in 0..lines.len() {
        for b in a + 1..lines.len() {
            if hot[a] || hot[b] {
                let mut exchanged = lines.clone();
                exchanged.swap(a, b);
                proposals.push(proposal(ground, exchanged));
            }
        }
        for to in (0..lines.len()).filter(|to| hot[a] && *to != a) {
            let mut moved = lines.clone();
            let line = moved.remove(a);
            moved.insert(to, line);
            proposals.push(proposal(ground, moved));
        }
    }
    proposals
}

/// Returns the members that start on each line, without a flexible array, which stays last.
fn atoms_by_line(ground: &StartingShape<'_>) -> Vec<Vec<usize>> {
    let shape = ground.shape;
    let layout = shape.lay_out(&shape.current_arrangement());
    let atoms = 0..shape.atoms.len();
    let movable: Vec<usize> = atoms.filter(|atom| !shape.atoms[*atom].flexible).collect();
    let line = |atom: usize| layout.places[atom].offset / ground.line.max(1);
    let lines = movable.chunk_by(|before, atom| line(*before) == line(*atom));
    lines.map(<[usize]>::to_vec).collect()
}

fn proposal(ground: &StartingShape<'_>, lines: Vec<Vec<usize>>) -> LayoutProposal {
    let shape = ground.shape;
    let flexible = (0..shape.atoms.len()).filter(|atom| shape.atoms[*atom].flexible);
    let mut arrangement = shape.current_arrangement();
    arrangement.order = lines.into_iter().flatten().chain(flexible).collect();
    LayoutProposal {
        changes: LayoutChange::leading_to(shape, &arrangement),
        arrangement,
        pads: Vec::new(),
    }
}
