//! Sizes and alignments of types.
use std::cell::RefCell;
use std::collections::HashMap;

use crate::abi::target::{TargetAbi, is_valid_align};
use crate::{Aggregate, AggregateKind, Type, TypeArena, TypeId};

/// Most typedefs and qualifiers around each other. More is a cycle in damaged debug information.
const DEPTH_MAX: u32 = 64;

/// C ABI engine for the types of one arena.
pub struct AbiEngine<'t> {
    pub(super) types: &'t TypeArena,
    pub(super) target: TargetAbi,
    /// See [`alignments_recorded`](Self::alignments_recorded).
    pub(super) recorded: bool,
    // Answers by aggregate. Entries exist before the members are read, so that types in damaged
    // debug information that contain each other come to an end.
    known_aligns: RefCell<HashMap<TypeId, Option<u64>>>,
    known_flexible: RefCell<HashMap<TypeId, bool>>,
    pub(super) known_data_ends: RefCell<HashMap<TypeId, u64>>,
}

impl<'t> AbiEngine<'t> {
    /// Engine for types compiled for Linux on x86-64.
    pub fn new(types: &'t TypeArena) -> Self {
        Self::for_target(types, TargetAbi::X86_64)
    }

    /// Engine for types compiled for `target`.
    pub fn for_target(types: &'t TypeArena, target: TargetAbi) -> Self {
        Self {
            types,
            target,
            recorded: false,
            known_aligns: RefCell::default(),
            known_flexible: RefCell::default(),
            known_data_ends: RefCell::default(),
        }
    }

    /// Sets if the types carry every alignment made by hand, as DWARF of GCC and Clang does and BTF
    /// does not ([`TypeCatalog::knows_alignments`](crate::catalog::TypeCatalog::knows_alignments)).
    /// A hole without recorded alignment is then explained by unnamed bitfields first.
    pub fn alignments_recorded(mut self, recorded: bool) -> Self {
        self.recorded = recorded;
        self
    }

    /// ABI that sizes and alignments follow.
    pub fn target(&self) -> TargetAbi {
        self.target
    }

    /// `sizeof` in bytes; 0 for an array of unknown length, `None` for types without size.
    pub fn size_of(&self, id: TypeId) -> Option<u64> {
        self.size_at(id, 0)
    }

    /// `_Alignof` in bytes; `None` for types without alignment.
    ///
    /// For a struct without an attribute in the debug information, this is the alignment that
    /// explains its offsets and size: 1 for a packed struct.
    pub fn align_of(&self, id: TypeId) -> Option<u64> {
        self.align_at(id, 0)
    }

    fn lookup(&self, id: TypeId) -> Option<&'t Type> {
        self.types.types.get(id.0 as usize)
    }

    /// Aggregate behind typedefs and qualifiers.
    pub(super) fn aggregate(&self, id: TypeId) -> Option<&'t Aggregate> {
        self.aggregate_id(id).map(|(_, aggregate)| aggregate)
    }

    /// Aggregate behind typedefs and qualifiers, with its id.
    pub(super) fn aggregate_id(&self, mut id: TypeId) -> Option<(TypeId, &'t Aggregate)> {
        for _ in 0..DEPTH_MAX {
            match self.lookup(id)? {
                Type::Typedef { target, .. } | Type::Qualified { target, .. } => id = (*target)?,
                Type::Aggregate(aggregate) => return Some((id, aggregate)),
                _ => return None,
            }
        }
        None
    }

    /// Returns true if objects may be longer than the type: an array of unknown or zero length, or
    /// a struct that ends in one.
    pub(super) fn is_flexible(&self, id: TypeId) -> bool {
        self.flexible_at(id, 0)
    }

    fn flexible_at(&self, id: TypeId, depth: u32) -> bool {
        if depth > DEPTH_MAX {
            return false;
        }
        match self.lookup(id) {
            Some(Type::Typedef { target, .. } | Type::Qualified { target, .. }) => {
                target.is_some_and(|target| self.flexible_at(target, depth + 1))
            }
            Some(Type::Array { counts, .. }) => {
                matches!(counts.first(), None | Some(None | Some(0)))
            }
            Some(Type::Aggregate(aggregate)) if aggregate.size > 0 => {
                if let Some(known) = self.known_flexible.borrow().get(&id) {
                    return *known;
                }
                self.known_flexible.borrow_mut().insert(id, false);
                let members = &aggregate.members[..];
                let last_members = match aggregate.kind {
                    AggregateKind::Union => members,
                    _ => &members[members.len().saturating_sub(1)..],
                };
                let mut candidates = last_members.iter();
                let flexible = candidates.any(|member| self.flexible_at(member.ty, depth + 1));
                self.known_flexible.borrow_mut().insert(id, flexible);
                flexible
            }
            _ => false,
        }
    }

    fn size_at(&self, id: TypeId, depth: u32) -> Option<u64> {
        if depth > DEPTH_MAX {
            return None;
        }
        match self.lookup(id)? {
            Type::Base { size, .. } | Type::Enum { size, .. } | Type::Pointer { size, .. } => {
                Some(*size)
            }
            Type::Array { element, counts } => {
                let element = self.size_at(*element, depth + 1)?;
                let count = counts.iter().try_fold(1u64, |product, count| {
                    product.checked_mul(count.unwrap_or(0))
                })?;
                element.checked_mul(if counts.is_empty() { 0 } else { count })
            }
            Type::Typedef { target, .. } | Type::Qualified { target, .. } => {
                self.size_at((*target)?, depth + 1)
            }
            Type::Aggregate(aggregate) => aggregate.complete.then_some(aggregate.size),
            Type::Function { .. } | Type::Unknown(_) => None,
        }
    }

    pub(super) fn align_at(&self, id: TypeId, depth: u32) -> Option<u64> {
        if depth > DEPTH_MAX {
            return None;
        }
        match self.lookup(id)? {
            Type::Base { name, size } => Some(self.target.base_align(name, *size)),
            Type::Enum { size, .. } | Type::Pointer { align: size, .. } => {
                Some(self.target.integer_align(*size))
            }
            Type::Array { element, .. } => self.align_at(*element, depth + 1),
            Type::Typedef {
                target,
                declared_align,
                ..
            } => match declared_align {
                Some(align) if is_valid_align(align) => Some(*align),
                _ => self.align_at((*target)?, depth + 1),
            },
            Type::Qualified { qualifier, target } => {
                let align = self.align_at((*target)?, depth + 1)?;
                Some(match *qualifier {
                    // One instruction can reach an aligned atomic object.
                    "_Atomic" => align.max(lock_free_align(self.size_at((*target)?, depth + 1)?)),
                    _ => align,
                })
            }
            Type::Aggregate(aggregate) => {
                if let Some(known) = self.known_aligns.borrow().get(&id) {
                    return *known;
                }
                self.known_aligns.borrow_mut().insert(id, None);
                let align = self.aggregate_align(aggregate, depth + 1);
                self.known_aligns.borrow_mut().insert(id, align);
                align
            }
            Type::Function { .. } | Type::Unknown(_) => None,
        }
    }

    /// Alignment that the members and the attributes of `aggregate` give it.
    pub(super) fn aggregate_align(&self, aggregate: &Aggregate, depth: u32) -> Option<u64> {
        if !aggregate.complete {
            return None;
        }
        if let Ok(shape) = self.shape_at(aggregate, depth) {
            return Some(shape.lay_out(&shape.current_arrangement()).align);
        }
        // The alignment of a C++ class with base classes is that of its members.
        let mut align = aggregate.declared_align.filter(is_valid_align).unwrap_or(1);
        for member in &aggregate.members {
            let declared = member.declared_align.filter(is_valid_align);
            align = align.max(match declared {
                Some(declared) => declared,
                None => self.align_at(member.ty, depth)?,
            });
        }
        let size = aggregate.size;
        Some(if size.is_multiple_of(align) { align } else { 1 })
    }
}

/// Alignment of an atomic object of so many bytes; 1 if it needs a lock anyway.
fn lock_free_align(size: u64) -> u64 {
    match size {
        1 | 2 | 4 | 8 | 16 => size,
        _ => 1,
    }
}
