//! Alignments of types, cached while one type is printed.

use std::cell::RefCell;

use relayout_layout::{
    Aggregate, AggregateGaps, AggregateKind, NESTING_MAX, Type, TypeArena, TypeId,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Natural alignments of one arena, and packed structs that the text of one type came upon.
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

    /// Treats structs inside `aggregate` as packed from here on if they are off their natural
    /// alignment, because an aggregate with gaps is not packed itself. Structs in arrays stay as
    /// they are.
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

    /// Returns true if [`pack_displaced`](Self::pack_displaced) came upon the type.
    pub(super) fn is_packed_here(&self, id: TypeId) -> bool {
        self.displaced.borrow().contains(&id)
    }

    /// Returns true if `__attribute__((packed))` has to be inferred, which debug information does
    /// not carry. A struct without holes and padding is packed if a member is off its natural
    /// alignment, or if its size is no multiple of the largest alignment.
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

    /// Largest natural alignment of the members; 1 without members.
    pub(super) fn largest_align(&self, aggregate: &Aggregate) -> u64 {
        let members = aggregate.members.iter();
        let natural = members.map(|member| self.natural_align(member.ty)).max();
        natural.unwrap_or(1)
    }

    /// Alignment by the sizes of the scalars inside, without declared alignments.
    pub(super) fn natural_align(&self, id: TypeId) -> u64 {
        self.natural_at(id, 0)
    }

    fn natural_at(&self, id: TypeId, depth: u32) -> u64 {
        let id = self.types.strip_typedefs(id);
        if depth > NESTING_MAX {
            return 1;
        }
        match self.types.get(id) {
            Type::Base { size, .. }
            | Type::Enum { size, .. }
            | Type::Pointer { align: size, .. } => (*size).max(1),
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
