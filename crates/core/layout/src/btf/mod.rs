//! Reader of BTF, the compact type format of the kernel.
//!
//! A blob is cut into records at once, and types are loaded into an arena on demand. All 19 kinds
//! are read. Declaration tags, functions, variables and sections are no types and are left out;
//! type tags are skipped. The BTF of a module is split: its ids and names continue those of the
//! kernel, so it is read together with the kernel's ([`BtfFile::parse_split`]).
//!
//! The crate `btf` (0.5, MIT) is not used because it flattens every chain of pointers, qualifiers
//! and typedefs into one record, and drops the return types of functions. Neither `const char
//! *const *` nor `int (*f)(void)` can be restored from that.

mod blob;
mod distilled;
mod load;
mod methods;
use std::borrow::Cow;

use blob::{BtfBlob, BtfRecord, MalformedBtf};

use crate::elf::ElfBinary;
use crate::{DefinitionKind, Error};

pub use blob::BtfId;

pub use load::BtfTypeLoader;

/// Types of one BTF blob, and of its base if it is split.
#[derive(Debug)]
pub struct BtfFile<'a> {
    base: Option<BtfBlob<'a>>,
    own: BtfBlob<'a>,
    pointer_size: u64,
}

impl<'a> BtfFile<'a> {
    /// Returns true if the bytes begin as raw BTF does, outside of an ELF file.
    pub fn is_raw(bytes: &[u8]) -> bool {
        blob::has_magic(bytes)
    }

    /// Reads raw BTF (as in `/sys/kernel/btf/vmlinux`) or the `.BTF` section of an ELF file.
    ///
    /// # Errors
    /// Neither BTF nor ELF, an ELF file without BTF, malformed BTF, split BTF, which needs its
    /// base.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let (section, pointer_size) = btf_section(bytes)?;
        let own = BtfBlob::parse(section, None)?;
        Self::new(None, own, pointer_size)
    }

    /// Reads split BTF, as of a kernel module, with the BTF of its kernel as base. BTF with a
    /// distilled base (`.BTF.base`) is relocated to this kernel.
    ///
    /// # Errors
    /// Same as [`parse`](Self::parse); a `base` that is split itself, or that ends before the names
    /// that are used begin; a kernel without the types of the distilled base.
    pub fn parse_split(bytes: &'a [u8], base: &'a [u8]) -> Result<Self, Error> {
        match distilled_section(bytes)? {
            Some(distilled) => Self::parse_distilled(bytes, &distilled, base),
            None => Self::parse_with_base(base, |_| btf_section(bytes)),
        }
    }

    /// Reads split BTF with a distilled base, raw BTF, and relocates it to the BTF of a kernel.
    ///
    /// # Errors
    /// Same as [`parse_split`](Self::parse_split).
    pub fn parse_distilled(
        bytes: &'a [u8],
        distilled: &[u8],
        base: &'a [u8],
    ) -> Result<Self, Error> {
        Self::parse_with_base(base, |kernel| {
            let (section, pointer_size) = btf_section(bytes)?;
            let distilled = BtfBlob::parse(Cow::Borrowed(distilled), None)?;
            let own = BtfBlob::parse(section, Some(&distilled))?;
            let relocated = distilled::relocate(&own, &distilled, kernel)?;
            Ok((Cow::Owned(relocated), pointer_size))
        })
    }

    /// Reads the BTF that `section` returns for a base, and the base.
    fn parse_with_base(
        base: &'a [u8],
        section: impl FnOnce(&BtfBlob<'_>) -> Result<(Cow<'a, [u8]>, Option<u64>), Error>,
    ) -> Result<Self, Error> {
        let (base, base_pointer_size) = btf_section(base)?;
        let base = BtfBlob::parse(base, None)?;
        let (section, pointer_size) = section(&base)?;
        let own = BtfBlob::parse(section, Some(&base))?;
        Self::new(Some(base), own, pointer_size.or(base_pointer_size))
    }

    fn new(
        base: Option<BtfBlob<'a>>,
        own: BtfBlob<'a>,
        pointer_size: Option<u64>,
    ) -> Result<Self, Error> {
        let mut btf = Self {
            base,
            own,
            pointer_size: 8,
        };
        btf.pointer_size = match pointer_size {
            Some(size) => size,
            None => btf.guess_pointer_size()?,
        };
        Ok(btf)
    }

    /// Returns true if this is split BTF with a base.
    pub fn is_split(&self) -> bool {
        self.base.is_some()
    }

    /// Named definitions of this blob in order of their ids, without those of its base: complete
    /// structs, unions, enums, typedefs and base types. Names that are not UTF-8 are left out.
    pub fn definitions(&self) -> impl Iterator<Item = (&str, BtfId, DefinitionKind)> {
        self.own.ids().filter_map(|id| {
            let record = self.record(id).ok()??;
            let kind = definition_kind(&record)?;
            let name = self.string(record.name).ok()?;
            let name = std::str::from_utf8(name).ok()?;
            (!name.is_empty()).then_some((name, id, kind))
        })
    }

    /// Name of a definition of that name, as the strings have it.
    pub(crate) fn stored_name(&self, name: &str) -> Option<&str> {
        let record = self.record(*self.find_types(name).first()?).ok()??;
        std::str::from_utf8(self.string(record.name).ok()?).ok()
    }

    /// Definitions of that name in order of their ids; those of the base come last.
    pub fn find_types(&self, name: &str) -> Vec<BtfId> {
        let own = self.ids_named(&self.own, name);
        let base = self.base.iter().flat_map(|base| self.ids_named(base, name));
        own.chain(base).collect()
    }

    fn ids_named<'s>(
        &'s self,
        blob: &'s BtfBlob<'a>,
        name: &'s str,
    ) -> impl Iterator<Item = BtfId> + use<'s, 'a> {
        blob.ids().filter(move |id| {
            let Ok(Some(record)) = self.record(*id) else {
                return false;
            };
            definition_kind(&record).is_some() && self.string(record.name) == Ok(name.as_bytes())
        })
    }

    /// Record of a type; `None` for id 0 and for unknown ids.
    fn record(&self, id: BtfId) -> Result<Option<BtfRecord>, MalformedBtf> {
        self.blob_of(id).record(id)
    }

    fn blob_of(&self, id: BtfId) -> &BtfBlob<'a> {
        match &self.base {
            Some(base) if id < self.own.first_id() => base,
            _ => &self.own,
        }
    }

    /// Name without the NUL at its end.
    fn string(&self, offset: u32) -> Result<&[u8], MalformedBtf> {
        match &self.base {
            Some(base) if (offset as usize) < self.own.first_string() => base.string(offset),
            _ => self.own.string(offset),
        }
    }

    fn text(&self, offset: u32) -> Result<Cow<'_, str>, MalformedBtf> {
        self.string(offset).map(String::from_utf8_lossy)
    }

    /// Size of `long`, which is that of a pointer on all machines of the kernel. Raw BTF does not
    /// tell.
    fn guess_pointer_size(&self) -> Result<u64, Error> {
        for blob in self.base.iter().chain([&self.own]) {
            for id in blob.ids() {
                if let Some(record) = blob.record(id)?
                    && record.kind == blob::KIND_INT
                    && matches!(
                        self.string(record.name)?,
                        b"long unsigned int" | b"unsigned long"
                    )
                {
                    return Ok(u64::from(record.size_or_type));
                }
            }
        }
        Ok(8)
    }
}

fn definition_kind(record: &BtfRecord) -> Option<DefinitionKind> {
    Some(match record.kind {
        blob::KIND_STRUCT => DefinitionKind::Struct,
        blob::KIND_UNION => DefinitionKind::Union,
        blob::KIND_ENUM | blob::KIND_ENUM64 => DefinitionKind::Enum,
        blob::KIND_TYPEDEF => DefinitionKind::Typedef,
        blob::KIND_INT | blob::KIND_FLOAT => DefinitionKind::Base,
        _ => return None,
    })
}

/// Distilled base of a module.
fn distilled_section(bytes: &[u8]) -> Result<Option<Cow<'_, [u8]>>, Error> {
    if blob::has_magic(bytes) {
        return Ok(None);
    }
    ElfBinary::parse(bytes)?.section(".BTF.base")
}

/// BTF section of a file, and the size of a pointer in bytes where the file tells.
fn btf_section(bytes: &[u8]) -> Result<(Cow<'_, [u8]>, Option<u64>), Error> {
    if blob::has_magic(bytes) {
        return Ok((Cow::Borrowed(bytes), None));
    }
    let elf = ElfBinary::parse(bytes)?;
    match elf.section(".BTF")? {
        Some(section) if !section.is_empty() => Ok((section, Some(elf.pointer_size()))),
        _ if elf.has_section(".debug_info") => Err(Error::NoBtf),
        _ => Err(Error::NoDebugInfo),
    }
}
