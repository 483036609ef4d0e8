//! Wraps some fields of a Rust struct in a type that fills cache lines.
//!
//! `hits` and `misses`, each written by another thread, both need a wrapper to be off each other's
//! line and off that of `limit`, which both read. So the best sets of wrapped fields are extended
//! by one field, step by step.

use relayout_layout::abi::{AtomArrangement, StructShape};

use super::LayoutProposal;

/// Wrapped fields at most.
const WRAPPED_MAX: usize = 6;
/// Fields that are tried.
const FIELDS_MAX: usize = 64;
/// Sets that each step extends.
const EXTENDED: usize = 6;
/// Sets of each step that become candidates.
const KEPT: usize = 12;

/// Returns proposals that align one or more of `fields` to `wrapper_bytes`, the most promising ones of
/// each number of fields.
///
/// `estimate` returns the transfers and the size of a proposal; `None` if it is not allowed.
pub(crate) fn propose(
    shape: &StructShape,
    fields: &[usize],
    wrapper_bytes: u64,
    mut estimate: impl FnMut(LayoutProposal) -> Option<(u64, u64)>,
) -> Vec<LayoutProposal> {
    let is_smaller = |atom: &&usize| shape.atoms[**atom].align < wrapper_bytes;
    let fields: Vec<usize> = fields.iter().filter(is_smaller).copied().collect();
    let fields = &fields[..fields.len().min(FIELDS_MAX)];
    let propose_set = |set: &[usize]| wrapped_set(shape, set, wrapper_bytes);
    let (mut proposals, mut extended) = (Vec::new(), vec![Vec::<usize>::new()]);
    for _ in 0..WRAPPED_MAX.min(fields.len()) {
        let mut sets: Vec<Vec<usize>> = Vec::new();
        for set in &extended {
            for field in fields.iter().filter(|field| !set.contains(field)) {
                let mut larger = set.clone();
                larger.push(*field);
                larger.sort_unstable();
                sets.push(larger);
            }
        }
        sets.sort();
        sets.dedup();
        let mut estimated: Vec<((u64, u64), Vec<usize>)> = { sets.into_iter() }
            .filter_map(|set| Some((estimate(propose_set(&set))?, set)))
            .collect();
        estimated.sort();
        let best = estimated.iter().take(KEPT);
        proposals.extend(best.map(|(_, set)| propose_set(set)));
        let best = estimated.into_iter().take(EXTENDED);
        extended = best.map(|(_, set)| set).collect();
    }
    proposals
}

fn wrapped_set(shape: &StructShape, set: &[usize], wrapper_bytes: u64) -> LayoutProposal {
    let mut arrangement: AtomArrangement = shape.current_arrangement();
    set.iter()
        .for_each(|atom| arrangement.align[*atom] = wrapper_bytes);
    LayoutProposal {
        arrangement,
        pads: Vec::new(),
        changes: Vec::new(),
    }
}
