//! Sizes, alignments and names of types in their arena.
//!
//! Arenas may come from damaged debug information or be built by hand, so chains of typedefs and
//! nested aggregates are followed to a fixed depth only.

use rustc_hash::FxHashMap;

use crate::{Aggregate, AggregateKind, InlineNamespaces, Type, TypeArena, TypeId};

/// Most typedefs, qualifiers and aggregates that are followed into each other; more is a cycle.
pub const NESTING_MAX: u32 = 64;

/// Most references that one load follows. Real types stay far below.
pub(crate) const LOAD_DEPTH_MAX: u32 = 128;

/// Extent to which a loader needs an aggregate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoadNeed {
    /// Held by value: the members are needed.
    Members,
    /// Behind a pointer: the name suffices.
    Name,
}

/// Largest natural alignment of a scalar in the modelled C ABIs (`long double`, `__int128`), in
/// bytes.
const SCALAR_ALIGN_MAX: u64 = 16;

impl TypeArena {
    /// Empty arena.
    pub fn new() -> Self {
        Self::default()
    }

    /// Empty arena for types in inline namespaces.
    pub fn with_inline_namespaces(inline_namespaces: InlineNamespaces) -> Self {
        Self {
            inline_namespaces,
            ..Self::default()
        }
    }

    /// Inline namespaces of the types; none unless they were given.
    pub fn inline_namespaces(&self) -> &InlineNamespaces {
        &self.inline_namespaces
    }

    /// Adds a type, for instance an [`Aggregate`] with other offsets.
    ///
    /// # Panics
    /// The arena already holds `u32::MAX` types.
    pub fn add(&mut self, ty: Type) -> TypeId {
        let id = u32::try_from(self.types.len()).expect("an arena holds less than 2^32 types");
        self.types.push(ty);
        TypeId(id)
    }

    /// Number of types; every [`TypeId`] of this arena is below it.
    pub fn len(&self) -> usize {
        self.types.len()
    }

    /// Returns true if nothing has been loaded yet.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    /// Type with this id.
    ///
    /// # Panics
    /// `id` comes from another, larger arena.
    pub fn get(&self, id: TypeId) -> &Type {
        &self.types[id.0 as usize]
    }

    /// Replaces a type by another.
    ///
    /// # Panics
    /// `id` comes from another, larger arena.
    pub fn set(&mut self, id: TypeId, ty: Type) {
        self.types[id.0 as usize] = ty;
    }

    /// Type behind typedefs and qualifiers. `typedef void x;` and cycles end at themselves.
    pub fn strip_typedefs(&self, id: TypeId) -> TypeId {
        let mut at = id;
        for _ in 0..NESTING_MAX {
            match self.get(at) {
                Type::Typedef {
                    target: Some(target),
                    ..
                }
                | Type::Qualified {
                    target: Some(target),
                    ..
                } => at = *target,
                _ => break,
            }
        }
        at
    }

    /// Type behind qualifiers alone.
    pub fn strip_qualifiers(&self, id: TypeId) -> TypeId {
        let mut at = id;
        for _ in 0..NESTING_MAX {
            match self.get(at) {
                Type::Qualified {
                    target: Some(target),
                    ..
                } => at = *target,
                _ => break,
            }
        }
        at
    }

    /// Type behind typedefs, qualifiers and arrays.
    pub(crate) fn innermost(&self, id: TypeId) -> TypeId {
        let mut at = id;
        for _ in 0..NESTING_MAX {
            at = self.strip_typedefs(at);
            match self.get(at) {
                Type::Array { element, .. } => at = *element,
                _ => break,
            }
        }
        at
    }

    /// Kind and name of the aggregate behind typedefs and qualifiers, if its members are not
    /// loaded.
    pub(crate) fn declared_only(&self, id: TypeId) -> Option<(AggregateKind, String)> {
        let found = self.aggregate(id).filter(|found| !found.complete)?;
        Some((found.kind, found.name.clone()?))
    }

    /// Struct, union or class behind typedefs and qualifiers.
    pub fn aggregate(&self, id: TypeId) -> Option<&Aggregate> {
        match self.get(self.strip_typedefs(id)) {
            Type::Aggregate(aggregate) => Some(aggregate),
            _ => None,
        }
    }

    /// `sizeof` in bytes; 0 for an array of unknown length. `None` for void, functions,
    /// declarations without members, and types that the reader does not model.
    pub fn size_of(&self, id: TypeId) -> Option<u64> {
        let mut id = id;
        let mut factor = 1u64;
        for _ in 0..NESTING_MAX {
            id = self.strip_typedefs(id);
            let size = match self.get(id) {
                Type::Base { size, .. } | Type::Enum { size, .. } | Type::Pointer { size, .. } => {
                    *size
                }
                Type::Aggregate(aggregate) if aggregate.complete => aggregate.size,
                Type::Array { element, counts } => {
                    factor = factor.checked_mul(element_count(counts)?)?;
                    id = *element;
                    continue;
                }
                _ => return None,
            };
            return factor.checked_mul(size);
        }
        None
    }

    /// Natural alignment in the C ABI in bytes, with declared alignments; 1 where unknown. Does not
    /// infer `packed`, as [`abi`](crate::abi) does.
    pub fn align_of(&self, id: TypeId) -> u64 {
        self.align_at(id, 0, &mut FxHashMap::default())
    }

    fn align_at(&self, id: TypeId, depth: u32, known: &mut FxHashMap<TypeId, u64>) -> u64 {
        if depth > NESTING_MAX {
            return 1;
        }
        match self.get(id) {
            Type::Base { size, .. }
            | Type::Enum { size, .. }
            | Type::Pointer { align: size, .. } => scalar_align(*size),
            Type::Array { element, .. } => self.align_at(*element, depth + 1, known),
            Type::Typedef {
                declared_align: Some(align),
                ..
            } => *align,
            Type::Typedef {
                target: Some(target),
                ..
            }
            | Type::Qualified {
                target: Some(target),
                ..
            } => self.align_at(*target, depth + 1, known),
            Type::Aggregate(aggregate) => {
                if let Some(align) = known.get(&id) {
                    return *align;
                }
                let members = aggregate.members.iter().map(|member| {
                    member
                        .declared_align
                        .unwrap_or_else(|| self.align_at(member.ty, depth + 1, known))
                });
                let natural = members.max().unwrap_or(1);
                let align = natural.max(aggregate.declared_align.unwrap_or(1));
                known.insert(id, align);
                align
            }
            _ => 1,
        }
    }
}

/// Number of elements of all dimensions together; an unknown bound counts 0. `None` on overflow.
pub fn element_count(counts: &[Option<u64>]) -> Option<u64> {
    counts.iter().try_fold(1u64, |product, count| {
        product.checked_mul(count.unwrap_or(0))
    })
}

fn scalar_align(size: u64) -> u64 {
    match size {
        0 => 1,
        _ => (1 << size.trailing_zeros()).min(SCALAR_ALIGN_MAX),
    }
}
