//! Where else to look when no order of a type's members helps.
//!
//! `ArcInner<Stats>` has its counters in `data`, which moves as a whole: their order is that of `Stats`.

use std::collections::{BTreeMap, BTreeSet};

use relayout_layout::{AggregateKind, TypeArena};
use relayout_search::{AdviceVerdict, LayoutAdvice};

use super::super::TypeAdvice;

/// Members named at most.
const INNER_NAMED_MAX: usize = 3;

/// Names the structs among the members of which several parts were accessed; `None` where there is none, or where an
/// order of the members helps.
pub fn inner_types_sentence(
    type_advice: &TypeAdvice<'_>,
    types: &TypeArena,
    advice: &LayoutAdvice,
) -> Option<String> {
    if !matches!(advice.verdict, AdviceVerdict::NothingBetter { .. }) {
        return None;
    }
    let mut accessed_offsets: BTreeMap<usize, BTreeSet<u32>> = BTreeMap::new();
    for instance in &type_advice.instances {
        for access in &instance.trace.accesses {
            if let Some(atom) =
                type_advice.atom_at_offset(&advice.current.layout, instance, access.offset)
            {
                accessed_offsets
                    .entry(atom)
                    .or_default()
                    .insert(access.offset);
            }
        }
    }
    let several_offsets = accessed_offsets
        .iter()
        .filter(|(_, offsets)| offsets.len() > 1);
    let inner_names = several_offsets.filter_map(|(atom, _)| {
        let atom = &type_advice.shape.atoms[*atom];
        let [member] = type_advice.aggregate.members.get(atom.members.clone())? else {
            return None;
        };
        let inner_type = types.aggregate(member.ty)?;
        let is_struct = inner_type.kind == AggregateKind::Struct && inner_type.members.len() > 1;
        let name = inner_type.name.as_deref().filter(|_| is_struct)?;
        Some(format!("'{}' ({name})", atom.name))
    });
    let inner_names: Vec<String> = inner_names.take(INNER_NAMED_MAX).collect();
    (!inner_names.is_empty()).then(|| {
        format!(
            "What moved as a whole has an order of its own to look for: {}, by `relayout advise` with that \
             type.\n",
            inner_names.join(", ")
        )
    })
}
