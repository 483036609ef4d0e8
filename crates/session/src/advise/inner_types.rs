//! Structs among the members whose own order is worth a search.
//!
//! `ArcInner<Stats>` has its counters in `data`, which moves as a whole: their order is that of
//! `Stats`.

use std::collections::{BTreeMap, BTreeSet};

use relayout_layout::{AggregateKind, TypeArena};
use relayout_search::{AdviceVerdict, LayoutAdvice};

use super::gathered::GatheredType;

/// Members listed at most.
const INNER_NAMED_MAX: usize = 3;

/// A member that is a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InnerType {
    /// Member.
    pub member: String,
    /// Tag of its struct.
    pub type_name: String,
}

/// Returns the structs among the members of which several parts were accessed, if no order of the
/// members helps.
pub fn inner_types(
    gathered: &GatheredType<'_>,
    types: &TypeArena,
    advice: &LayoutAdvice,
) -> Vec<InnerType> {
    if !matches!(advice.verdict, AdviceVerdict::NothingBetter { .. }) {
        return Vec::new();
    }
    let mut accessed_offsets: BTreeMap<usize, BTreeSet<u32>> = BTreeMap::new();
    for instance in &gathered.instances {
        for access in &instance.trace.accesses {
            let layout = &advice.current.layout;
            if let Some(atom) = gathered.atom_at_offset(layout, instance, access.offset) {
                let offsets = accessed_offsets.entry(atom).or_default();
                offsets.insert(access.offset);
            }
        }
    }
    accessed_offsets
        .iter()
        .filter(|(_, offsets)| offsets.len() > 1)
        .filter_map(|(atom, _)| inner_type(gathered, types, *atom))
        .take(INNER_NAMED_MAX)
        .collect()
}

fn inner_type(gathered: &GatheredType<'_>, types: &TypeArena, atom: usize) -> Option<InnerType> {
    let atom = &gathered.shape.atoms[atom];
    let [member] = gathered.aggregate.members.get(atom.members.clone())? else {
        return None;
    };
    let inner = types.aggregate(member.ty)?;
    let is_struct = inner.kind == AggregateKind::Struct && inner.members.len() > 1;
    let name = inner.name.as_ref().filter(|_| is_struct)?;
    Some(InnerType {
        member: atom.name.clone(),
        type_name: name.clone(),
    })
}
