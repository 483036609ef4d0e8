//! Where else to look when no order of a type's members helps.
//!
//! `ArcInner<Stats>` has its counters in `data`, which moves as a whole: their order is that of `Stats`.

use std::collections::{BTreeMap, BTreeSet};

use relayout_layout::{AggregateKind, Types};
use relayout_search::{Advice, Verdict};

use super::super::TypeAdvice;

/// Members named at most.
const NAMED_MAX: usize = 3;

/// Names the structs among the members of which several parts were accessed; `None` where there is none, or where an
/// order of the members helps.
pub fn sentence(one: &TypeAdvice<'_>, types: &Types, advice: &Advice) -> Option<String> {
    if !matches!(advice.verdict, Verdict::NothingBetter { .. }) {
        return None;
    }
    let mut accessed: BTreeMap<usize, BTreeSet<u32>> = BTreeMap::new();
    for instance in &one.instances {
        for access in &instance.trace.accesses {
            if let Some(atom) = one.atom_at(&advice.current.layout, instance, access.offset) {
                accessed.entry(atom).or_default().insert(access.offset);
            }
        }
    }
    let several = accessed.iter().filter(|(_, offsets)| offsets.len() > 1);
    let named = several.filter_map(|(atom, _)| {
        let atom = &one.shape.atoms[*atom];
        let [member] = one.aggregate.members.get(atom.members.clone())? else {
            return None;
        };
        let inner = types.aggregate(member.ty)?;
        let is_struct = inner.kind == AggregateKind::Struct && inner.members.len() > 1;
        let name = inner.name.as_deref().filter(|_| is_struct)?;
        Some(format!("'{}' ({name})", atom.name))
    });
    let named: Vec<String> = named.take(NAMED_MAX).collect();
    (!named.is_empty()).then(|| {
        format!(
            "What moved as a whole has an order of its own to look for: {}, by `relayout advise` with that \
             type.\n",
            named.join(", ")
        )
    })
}
