//! BTF, the kernel's compact type format: read in full into an arena.
//!
//! The reader is our own. The crate `btf` (0.5, MIT) parses the format but flattens every chain of
//! pointers, qualifiers and typedefs into one record, and drops the return types of functions, so
//! that neither `const char *const *` nor `int (*f)(void)` can be told from what it returns.
//!
//! All 19 kinds are read; declaration tags, functions, variables and sections are no types and
//! are left aside, type tags are looked through. Split BTF (of a module) needs its base and is
//! refused.

mod record;

use rustc_hash::FxHashMap;

use crate::elf::Elf;
use crate::{Error, Type, TypeId, Types};
use record::Records;

/// The types of one BTF blob.
#[derive(Debug)]
pub struct Btf {
    types: Types,
    names: Vec<String>,
    by_name: FxHashMap<String, Vec<TypeId>>,
}

impl Btf {
    /// Whether the bytes begin as BTF does that is not in an ELF file.
    pub fn is_raw(bytes: &[u8]) -> bool {
        record::has_magic(bytes)
    }

    /// Reads raw BTF (as in `/sys/kernel/btf/vmlinux`) or the `.BTF` section of an ELF file.
    ///
    /// # Errors
    /// Neither BTF nor ELF, an ELF file without BTF (with or without DWARF), malformed BTF.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        if record::has_magic(bytes) {
            return Self::parse_raw(bytes, None);
        }
        let elf = Elf::parse(bytes)?;
        match elf.section(".BTF")? {
            Some(section) if !section.is_empty() => {
                Self::parse_raw(&section, Some(elf.pointer_size()))
            }
            _ if elf.has_section(".debug_info") => Err(Error::NoBtf),
            _ => Err(Error::NoDebugInfo),
        }
    }

    fn parse_raw(bytes: &[u8], pointer_size: Option<u64>) -> Result<Self, Error> {
        let records = Records::parse(bytes)?;
        let types = records.types(pointer_size)?;
        let mut names = Vec::new();
        let mut by_name: FxHashMap<String, Vec<TypeId>> = FxHashMap::default();
        for index in 1..types.len() {
            let id = TypeId(index as u32);
            let Some(name) = defined_name(types.get(id)) else {
                continue;
            };
            by_name
                .entry(name.to_owned())
                .or_insert_with(|| {
                    names.push(name.to_owned());
                    Vec::new()
                })
                .push(id);
        }
        Ok(Self {
            types,
            names,
            by_name,
        })
    }

    /// The arena; a BTF id is its [`TypeId`].
    pub fn types(&self) -> &Types {
        &self.types
    }

    /// Complete struct, union, typedef, enum and base types of that name, in order of their ids.
    pub fn find_types(&self, name: &str) -> &[TypeId] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }

    /// Every type name with its definitions, in order of first appearance.
    pub fn type_names(&self) -> impl Iterator<Item = (&str, &[TypeId])> {
        self.names
            .iter()
            .map(|name| (name.as_str(), self.find_types(name)))
    }

    /// The definition of an aggregate that is only declared (`struct x;`); other ids as they are.
    pub fn complete(&self, id: TypeId) -> TypeId {
        match self.types.aggregate(id) {
            Some(stub) if !stub.complete => {
                let name = stub.name.as_deref().unwrap_or_default();
                let same = |id: &&TypeId| matches!(self.types.get(**id), Type::Aggregate(found) if found.kind == stub.kind);
                self.find_types(name)
                    .iter()
                    .find(same)
                    .copied()
                    .unwrap_or(id)
            }
            _ => id,
        }
    }
}

fn defined_name(ty: &Type) -> Option<&str> {
    match ty {
        Type::Base { name, .. } | Type::Typedef { name, .. } => Some(name),
        Type::Enum { name, .. } => name.as_deref(),
        Type::Aggregate(aggregate) if aggregate.complete => aggregate.name.as_deref(),
        _ => None,
    }
}
