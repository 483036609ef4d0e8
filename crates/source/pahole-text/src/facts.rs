//! What is asked of the same types again and again while one is printed.
use std::cell::RefCell;

use relayout_layout::{
    Aggregate, AggregateGaps, AggregateKind, NESTING_MAX, Type, TypeArena, TypeId,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Remembers natural alignments in one arena, and what was seen while one type is printed.
pub(super) struct AlignmentFacts<'t> {
    pub(super) types: &'t TypeArena,
    natural: RefCell<FxHashMap<TypeId, u64>>,
    displaced: RefCell<FxHashSet<TypeId>>,
}

impl<'t> AlignmentFacts<'t> {
    pub(super) fn new(types: &'t TypeArena) -> Self {
        Self {
            types,
            natural: RefCell::default(),
            displaced: RefCell::default(),
        }
    }

    /// From here on, structs that are members of this one off their natural alignment count as
    /// packed: it has gaps, so it is not packed itself. Those in arrays do not.
    pub(super) fn pack_displaced(&self, aggregate: &Aggregate, gaps: &AggregateGaps) {
        if aggregate.kind == AggregateKind::Union || !gaps.has_unused_bytes() {
            return;
        }
        for member in aggregate.members.iter().filter(|member| member.offset > 0) {
            let id = self.types.strip_typedefs(member.ty);
            if matches!(self.types.get(id), Type::Aggregate(_))
                && !member.offset.is_multiple_of(self.natural_align(id))
            {
                self.displaced.borrow_mut().insert(id);
            }
        }
    }

    /// Whether [`pack_displaced`](Self::pack_displaced) came upon it.
    pub(super) fn is_packed_here(&self, id: TypeId) -> bool {
        self.displaced.borrow().contains(&id)
    }

    /// Whether `__attribute__((packed))`, which debug information does not carry, is to be
    /// inferred: a struct without holes or padding is packed when a member is off its natural
    /// alignment or its size is no multiple of the largest one.
    pub(super) fn is_packed(&self, aggregate: &Aggregate, gaps: &AggregateGaps) -> bool {
        if aggregate.kind == AggregateKind::Union || gaps.has_unused_bytes() {
            return false;
        }
        let mut largest = 1;
        for member in &aggregate.members {
            let natural = self.natural_align(member.ty);
            if !member.offset.is_multiple_of(natural) {
                return true;
            }
            largest = largest.max(natural);
        }
        (largest != 1 && aggregate.declared_align == Some(1))
            || !aggregate.size.is_multiple_of(largest)
    }

    /// The largest natural alignment among the members, 1 without any.
    pub(super) fn largest_align(&self, aggregate: &Aggregate) -> u64 {
        let members = aggregate.members.iter();
        let natural = members.map(|member| self.natural_align(member.ty)).max();
        natural.unwrap_or(1)
    }

    /// Alignment by the sizes of the scalars inside, whatever was declared.
    pub(super) fn natural_align(&self, id: TypeId) -> u64 {
        self.natural_at(id, 0)
    }

    fn natural_at(&self, id: TypeId, depth: u32) -> u64 {
        let id = self.types.strip_typedefs(id);
        if depth > NESTING_MAX {
            return 1;
        }
        match self.types.get(id) {
            Type::Base { size, .. } | Type::Enum { size, .. } | Type::Pointer { size, .. } => {
                (*size).max(1)
            }
            Type::Array { element, .. } => self.natural_at(*element, depth + 1),
            Type::Aggregate(aggregate) => {
                if let Some(align) = self.natural.borrow().get(&id) {
                    return *align;
                }
                let members = aggregate.members.iter();
                let align = members
                    .map(|member| self.natural_at(member.ty, depth + 1))
                    .max();
                let align = align.unwrap_or(1);
                self.natural.borrow_mut().insert(id, align);
                align
            }
            _ => 1,
        }
    }
}
