//! Look-ups in the kernel's debug information: symbols, offsets of members, enumerators.
//!
//! Kernels differ in what they have. A reader asks for what it follows, and is left out where
//! something is missing.

use std::ops::Range;

use relayout_layout::dwarf::DwarfTypeLoader;
use relayout_layout::{Aggregate, Type, TypeArena, TypeId};

use crate::{GuestKernel, GuestMachine};

/// Definitions of one name that are tried, at most. Kernels with Rust have copies of C types.
const DEFINITIONS_MAX: usize = 16;

/// Something that a reader follows and the kernel's debug information lacks: `member
/// 'slab.slab_cache'`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingItem(pub String);

/// Look-ups in one kernel's debug information.
pub struct KernelLookup<'k, 'a> {
    kernel: &'k GuestKernel<'a>,
    types: DwarfTypeLoader<'k, 'a>,
}

impl<'k, 'a> KernelLookup<'k, 'a> {
    /// Creates look-ups in `kernel`.
    pub fn new(kernel: &'k GuestKernel<'a>) -> Self {
        Self {
            kernel,
            types: DwarfTypeLoader::new(&kernel.dwarf),
        }
    }

    /// Returns the kernel.
    pub fn kernel(&self) -> &'k GuestKernel<'a> {
        self.kernel
    }

    /// Returns the machine that the kernel runs on.
    pub fn machine(&self) -> GuestMachine {
        self.kernel.machine
    }

    /// Returns the address of a symbol.
    pub fn symbol(&self, name: &str) -> Result<u64, MissingItem> {
        let address = self.kernel.symbol_address(name).ok();
        address.ok_or_else(|| MissingItem(format!("symbol '{name}'")))
    }

    /// Returns the size of a type.
    pub fn type_bytes(&mut self, name: &str) -> Result<u64, MissingItem> {
        self.find_definition(name, |types, id| {
            types.size_of(id).filter(|&bytes| bytes > 0)
        })
        .ok_or_else(|| MissingItem(format!("type '{name}'")))
    }

    /// Returns the offset of a member, also within anonymous structs and unions.
    pub fn member(&mut self, name: &str, member: &str) -> Result<u64, MissingItem> {
        self.find_definition(name, |types, id| {
            find_member(types, types.aggregate(id)?, member).map(|(offset, _)| offset)
        })
        .ok_or_else(|| MissingItem(format!("member '{name}.{member}'")))
    }

    /// Returns the bytes of a member, which is given by its path: `d_name.hash`.
    pub fn member_extent(&mut self, name: &str, path: &str) -> Result<Range<u64>, MissingItem> {
        self.find_definition(name, |types, id| {
            let (mut start, mut ty) = (0, id);
            for member in path.split('.') {
                let (offset, inner) = find_member(types, types.aggregate(ty)?, member)?;
                (start, ty) = (start + offset, inner);
            }
            Some(start..start + types.size_of(ty)?)
        })
        .ok_or_else(|| MissingItem(format!("member '{name}.{path}'")))
    }

    /// Returns the size of a member, also within anonymous structs and unions.
    pub fn member_bytes(&mut self, name: &str, member: &str) -> Result<u64, MissingItem> {
        self.find_definition(name, |types, id| {
            let (_, ty) = find_member(types, types.aggregate(id)?, member)?;
            types.size_of(ty)
        })
        .ok_or_else(|| MissingItem(format!("member '{name}.{member}'")))
    }

    /// Returns the offset of the first of `members` that the type has.
    pub fn first_member(&mut self, name: &str, members: &[&str]) -> Result<u64, MissingItem> {
        let found = members.iter().find_map(|m| self.member(name, m).ok());
        found.ok_or_else(|| MissingItem(format!("member '{name}.{}'", members.join("' or '"))))
    }

    /// Returns the value of an enumerator.
    pub fn enumerator(&mut self, name: &str, enumerator: &str) -> Result<u32, MissingItem> {
        self.find_definition(name, |types, id| {
            let Type::Enum { enumerators, .. } = types.get(types.strip_typedefs(id)) else {
                return None;
            };
            let (_, value) = enumerators.iter().find(|(n, _)| n == enumerator)?;
            u32::try_from(*value).ok()
        })
        .ok_or_else(|| MissingItem(format!("enumerator '{name}.{enumerator}'")))
    }

    /// Returns the number of a bit, which an enumerator gives.
    pub fn bit_number(&mut self, name: &str, enumerator: &str) -> Result<u32, MissingItem> {
        let bit = self.enumerator(name, enumerator)?;
        let valid = (bit < u64::BITS).then_some(bit);
        valid.ok_or_else(|| MissingItem(format!("enumerator '{name}.{enumerator}' below 64")))
    }

    fn find_definition<T>(
        &mut self,
        name: &str,
        read: impl Fn(&TypeArena, TypeId) -> Option<T>,
    ) -> Option<T> {
        let kernel = self.kernel;
        let dies = kernel.dwarf.find_types(name);
        dies.into_iter().take(DEFINITIONS_MAX).find_map(|die| {
            let id = self.types.load(die).ok()?;
            read(self.types.types(), id)
        })
    }
}

/// Offset and type of a member.
fn find_member(types: &TypeArena, aggregate: &Aggregate, name: &str) -> Option<(u64, TypeId)> {
    aggregate
        .members
        .iter()
        .find_map(|member| match &member.name {
            Some(n) if n == name => Some((member.offset, member.ty)),
            Some(_) => None,
            None => {
                let inner = types.aggregate(member.ty)?;
                let (offset, ty) = find_member(types, inner, name)?;
                Some((member.offset + offset, ty))
            }
        })
}
