//! Fixed front part of a C++ class: base classes, and the pointer to virtual functions.
//!
//! The Itanium C++ ABI lets members begin in the padding of the last base class, unless that class
//! is plain data as in C. Debug information does not tell. The offsets of the members mostly do; a
//! class for which they do not is refused.
use rustc_hash::FxHashSet;

use crate::abi::error::AbiError;
use crate::abi::layout::ClassHead;
use crate::abi::sizes::AbiEngine;
use crate::types::NESTING_MAX;
use crate::{Aggregate, AggregateKind, Member, Type, TypeId};

/// Most types that are searched for empty base classes. Damaged debug information can nest
/// billions.
const TYPES_MAX: usize = 4096;

impl AbiEngine<'_> {
    /// Head of a class, and its end in bytes if the padding of the last base class is not used.
    pub(super) fn class_head(
        &self,
        aggregate: &Aggregate,
        depth: u32,
    ) -> Result<(ClassHead, u64), AbiError> {
        let mut head = ClassHead::default();
        if aggregate.kind == AggregateKind::Union {
            return Ok((head, 0));
        }
        let fixed =
            |member: &&Member| self.base_class(member).is_some() || is_vtable_pointer(member);
        head.member_count = aggregate.members.iter().take_while(fixed).count();
        let (front, own) = aggregate.members.split_at(head.member_count);
        let name = || aggregate.name.clone().unwrap_or_default();
        if own.iter().any(is_vtable_pointer) {
            return Err(AbiError::Virtual { name: name() });
        }
        let mut extents: Vec<(u64, u64, u64)> = Vec::new();
        for member in front {
            let unknown = || AbiError::UnknownSize {
                name: name(),
                member: member.name.clone().unwrap_or_default(),
            };
            let size = self.size_of(member.ty).ok_or_else(unknown)?;
            let align = self.align_at(member.ty, depth + 1).ok_or_else(unknown)?;
            head.align = head.align.max(align);
            let data = match self.base_class(member) {
                Some(_) => self.data_end(member.ty),
                None => size,
            };
            if data > 0 {
                let at = |bytes| member.offset.checked_add(bytes).ok_or_else(unknown);
                extents.push((member.offset, at(data)?, at(size)?));
            }
        }
        extents.sort_unstable();
        if extents.windows(2).any(|pair| pair[0].1 > pair[1].0) {
            return Err(AbiError::Virtual { name: name() });
        }
        let last = extents.last().copied().unwrap_or_default();
        if last.2 > aggregate.size {
            return Err(AbiError::Virtual { name: name() });
        }
        head.end = last.1;
        self.refuse_shared_empty_base(aggregate, front, own)?;
        Ok((head, last.2))
    }

    /// Returns true if the class or one of its base classes has a virtual base class.
    pub(super) fn has_virtual_base(&self, aggregate: &Aggregate) -> bool {
        let mut known = FxHashSet::default();
        let mut open = vec![aggregate];
        while let Some(class) = open.pop() {
            if !class.virtual_bases.is_empty() {
                return true;
            }
            let bases = class
                .members
                .iter()
                .filter_map(|member| self.base_class(member));
            // A class that is inherited in several ways is looked at once.
            open.extend(bases.filter_map(|(id, base)| known.insert(id).then_some(base)));
        }
        false
    }

    /// Base class that a member stands for, with its id.
    fn base_class(&self, member: &Member) -> Option<(TypeId, &Aggregate)> {
        (member.is_base)
            .then(|| self.aggregate_id(member.ty))
            .flatten()
    }

    /// End of the last byte of data of a class, in bytes from its start; 0 for an empty class.
    fn data_end(&self, id: TypeId) -> u64 {
        let Some((id, aggregate)) = self.aggregate_id(id) else {
            return 0;
        };
        if let Some(known) = self.known_data_ends.borrow().get(&id) {
            return *known;
        }
        self.known_data_ends.borrow_mut().insert(id, 0);
        let end = |member: &Member| match (member.bits, self.base_class(member)) {
            (Some(bits), _) => bits.offset_bits.saturating_add(bits.size_bits).div_ceil(8),
            (None, Some(_)) => match self.data_end(member.ty) {
                0 => 0,
                end => member.offset.saturating_add(end),
            },
            _ => member
                .offset
                .saturating_add(self.size_of(member.ty).unwrap_or(0)),
        };
        let ends = aggregate.members.iter().map(end);
        let end = ends.max().unwrap_or(0);
        self.known_data_ends.borrow_mut().insert(id, end);
        end
    }

    /// Refuses a class if one of its members holds an object of an empty base class. Two objects of
    /// one empty class cannot have the same address, so the compiler moves such a member.
    fn refuse_shared_empty_base(
        &self,
        aggregate: &Aggregate,
        front: &[Member],
        own: &[Member],
    ) -> Result<(), AbiError> {
        if front.is_empty() {
            return Ok(());
        }
        let mut bases = FxHashSet::default();
        let mut parts = FxHashSet::default();
        front
            .iter()
            .for_each(|member| self.collect_classes(member.ty, &mut bases));
        own.iter()
            .for_each(|member| self.collect_classes(member.ty, &mut parts));
        let empty = |id: &&TypeId| self.data_end(**id) == 0;
        match bases.iter().filter(|id| parts.contains(id)).find(empty) {
            None => Ok(()),
            Some(shared) => Err(AbiError::Base {
                name: aggregate.name.clone().unwrap_or_default(),
                base: (self.aggregate(*shared))
                    .and_then(|base| base.name.clone())
                    .unwrap_or_default(),
                why: "one of its members holds another object of that empty class",
            }),
        }
    }

    /// Adds all classes of which an object of the type consists.
    fn collect_classes(&self, id: TypeId, found: &mut FxHashSet<TypeId>) {
        let mut pending = vec![id];
        while let Some(id) = pending.pop() {
            let Some(id) = self.innermost_aggregate(id) else {
                continue;
            };
            if found.len() < TYPES_MAX
                && found.insert(id)
                && let Some(Type::Aggregate(aggregate)) = self.types.types.get(id.0 as usize)
            {
                pending.extend(aggregate.members.iter().map(|member| member.ty));
            }
        }
    }

    /// Aggregate behind typedefs, qualifiers and arrays.
    fn innermost_aggregate(&self, mut id: TypeId) -> Option<TypeId> {
        for _ in 0..NESTING_MAX {
            match self.types.types.get(id.0 as usize)? {
                Type::Typedef { target, .. } | Type::Qualified { target, .. } => id = (*target)?,
                Type::Array { element, .. } => id = *element,
                Type::Aggregate(_) => return Some(id),
                _ => return None,
            }
        }
        None
    }
}

/// Returns true for the pointer to virtual functions, by the name that GCC and Clang give it.
fn is_vtable_pointer(member: &Member) -> bool {
    let name = member.name.as_deref();
    name.is_some_and(|name| name.starts_with("_vptr"))
}
