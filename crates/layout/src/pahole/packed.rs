//! Infers `__attribute__((packed))`, which debug information does not carry.

use rustc_hash::FxHashMap;

use super::holes::Gaps;
use crate::types::DEPTH_MAX;
use crate::{Aggregate, AggregateKind, Type, TypeId, Types};

/// A struct without holes or padding is packed when a member is off its natural alignment or its
/// size is no multiple of the largest one.
pub(super) fn is_packed(types: &Types, aggregate: &Aggregate, gaps: &Gaps) -> bool {
    if aggregate.kind == AggregateKind::Union || gaps.padding != 0 || gaps.holes().next().is_some()
    {
        return false;
    }
    let mut largest = 1;
    for member in &aggregate.members {
        let natural = natural_align(types, member.ty);
        if !member.offset.is_multiple_of(natural) {
            return true;
        }
        largest = largest.max(natural);
    }
    (largest != 1 && aggregate.declared_align == Some(1)) || !aggregate.size.is_multiple_of(largest)
}

/// Alignment by the sizes of the scalars inside, whatever was declared.
pub(super) fn natural_align(types: &Types, id: TypeId) -> u64 {
    natural_at(types, id, 0, &mut FxHashMap::default())
}

fn natural_at(types: &Types, id: TypeId, depth: u32, known: &mut FxHashMap<TypeId, u64>) -> u64 {
    let id = types.strip(id);
    if depth > DEPTH_MAX {
        return 1;
    }
    match types.get(id) {
        Type::Base { size, .. } | Type::Enum { size, .. } | Type::Pointer { size, .. } => {
            (*size).max(1)
        }
        Type::Array { element, .. } => natural_at(types, *element, depth + 1, known),
        Type::Aggregate(aggregate) => {
            if let Some(align) = known.get(&id) {
                return *align;
            }
            let members = aggregate.members.iter();
            let align = members
                .map(|member| natural_at(types, member.ty, depth + 1, known))
                .max();
            let align = align.unwrap_or(1);
            known.insert(id, align);
            align
        }
        _ => 1,
    }
}
