//! One ELF file's DWARF: sections, units, and the index over them.

use std::borrow::Cow;
use std::sync::OnceLock;

use gimli::{EndianSlice, Reader as _, RunTimeEndian, SectionId, UnitHeader, UnitOffset};
use rustc_hash::FxHashMap;

use super::index::{Code, FunctionRange, Global, TypeNames};
use super::memory::{self, Stretch};
use super::names::{self, Definition};
use super::scan::Signatures;
use super::symbols::{self, Symbol};
use super::{DieOffset, scan};
use crate::Error;
use crate::elf::Elf;

/// How this crate reads DWARF: plain slices, endianness known at run time.
pub type Reader<'a> = EndianSlice<'a, RunTimeEndian>;

type Unit<'s> = gimli::Unit<Reader<'s>>;

/// An indexed file. Shared freely between threads.
///
/// Addresses are as linked: a relocatable object has every section at 0, and per-cpu variables
/// of the kernel have offsets into the per-cpu block.
pub struct DwarfFile<'a> {
    build_id: Option<Vec<u8>>,
    endian: RunTimeEndian,
    elf: Elf<'a>,
    symbols: OnceLock<Vec<Symbol<'a>>>,
    loaded: Vec<Stretch<'a>>,
    dwarf: gimli::Dwarf<Reader<'a>>,
    units: Vec<UnitSlot<'a>>,
    /// Type units by signature: the entry of the type.
    signatures: Signatures,
    types: TypeNames<'a>,
    code: OnceLock<Code<'a>>,
    static_locals: OnceLock<Vec<Global<'a>>>,
}

/// Keeps sections that had to be decompressed or relocated, for [`DwarfFile::parse_in`].
///
/// gimli's units borrow from their sections, so these have to live outside the file that indexes
/// them.
#[derive(Debug, Default)]
pub struct SectionStore(OnceLock<Vec<Vec<u8>>>);

/// A unit, parsed in full only when somebody looks into it: line tables take much memory.
struct UnitSlot<'a> {
    offset: usize,
    end: usize,
    header: UnitHeader<Reader<'a>>,
    unit: OnceLock<Option<Box<Unit<'a>>>>,
}

impl<'a> DwarfFile<'a> {
    /// Reads and indexes all units in parallel, straight from the given bytes.
    ///
    /// # Errors
    /// Not an ELF file, truncated, no DWARF (with or without BTF), malformed DWARF; sections that
    /// must be decompressed or relocated first, for which there is [`parse_in`](Self::parse_in).
    pub fn parse(elf: &'a [u8]) -> Result<Self, Error> {
        Self::parse_with(elf, None)
    }

    /// The same for any file: what must be decompressed or relocated is kept in `store`, which
    /// serves one file.
    ///
    /// # Errors
    /// Not an ELF file, truncated, no DWARF (with or without BTF), malformed DWARF, `store` in use.
    pub fn parse_in(elf: &'a [u8], store: &'a SectionStore) -> Result<Self, Error> {
        Self::parse_with(elf, Some(store))
    }

    fn parse_with(bytes: &'a [u8], store: Option<&'a SectionStore>) -> Result<Self, Error> {
        let elf = Elf::parse(bytes)?;
        if !elf.has_section(".debug_info") && !elf.has_section(".zdebug_info") {
            let btf = elf.has_section(".BTF");
            return Err(if btf {
                Error::NoDwarf
            } else {
                Error::NoDebugInfo
            });
        }
        let endian = if elf.is_little_endian() {
            RunTimeEndian::Little
        } else {
            RunTimeEndian::Big
        };
        let sections = read_sections(&elf, store)?;
        let dwarf = gimli::Dwarf::load(|id| {
            let bytes = sections.get(&id).copied().unwrap_or_default();
            Ok::<_, Error>(EndianSlice::new(bytes, endian))
        })?;
        let (units, signatures) = read_units(&dwarf)?;
        let headers: Vec<_> = units.iter().map(|slot| &slot.header).collect();
        let types = TypeNames::join(&names::of_units(&dwarf, &headers)?, |section, offset| {
            let mut input = EndianSlice::new(sections.get(&section)?, endian);
            input.skip(offset).ok()?;
            std::str::from_utf8(input.read_null_terminated_slice().ok()?.slice()).ok()
        });
        let skeleton = |unit: &&UnitHeader<_>| matches!(unit.type_(), gimli::UnitType::Skeleton(_));
        if types.is_empty() && headers.iter().any(skeleton) {
            return Err(Error::SplitDwarf);
        }
        Ok(Self {
            build_id: elf.build_id(),
            endian,
            symbols: OnceLock::new(),
            loaded: memory::loaded(&elf),
            elf,
            dwarf,
            units,
            signatures,
            types,
            code: OnceLock::new(),
            static_locals: OnceLock::new(),
        })
    }

    /// The linker's build id, where there is one.
    pub fn build_id(&self) -> Option<Vec<u8>> {
        self.build_id.clone()
    }

    /// The same as it is written: lower-case hexadecimal.
    pub fn build_id_text(&self) -> Option<String> {
        let id = self.build_id.as_ref()?;
        Some(id.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The sections as gimli sees them.
    pub fn dwarf(&self) -> &gimli::Dwarf<Reader<'a>> {
        &self.dwarf
    }

    /// The unit that holds `die`; `None` if no unit does or its header is malformed.
    pub fn unit_of(&self, die: DieOffset) -> Option<&gimli::Unit<Reader<'a>>> {
        let slot = self.slot_of(die)?;
        let parse = || {
            gimli::Unit::new(&self.dwarf, slot.header)
                .ok()
                .map(Box::new)
        };
        slot.unit.get_or_init(parse).as_deref()
    }

    /// The unit that holds `die`, and the offset of `die` in it.
    pub fn locate(&self, die: DieOffset) -> Option<(&gimli::Unit<Reader<'a>>, UnitOffset)> {
        let start = self.slot_of(die)?.offset;
        Some((self.unit_of(die)?, UnitOffset(die.0 - start)))
    }

    /// Number of units (compilation and type units).
    pub fn unit_count(&self) -> usize {
        self.units.len()
    }

    /// Defined symbols of the ELF file, sorted by address.
    pub fn symbols(&self) -> &[Symbol<'a>] {
        self.symbols.get_or_init(|| symbols::sorted(&self.elf))
    }

    /// `len` bytes of code or initialised data as linked at `address`; `None` where the file has
    /// none, or not that many in one section.
    pub fn bytes_at(&self, address: u64, len: usize) -> Option<&'a [u8]> {
        memory::at(&self.loaded, address, len)
    }

    /// Complete struct, union, class, typedef, enum and base type definitions of that name
    /// (without `struct` and the like, without namespace), in file order.
    pub fn find_types(&self, name: &str) -> &[DieOffset] {
        self.types.find(name)
    }

    /// The same, with what the index knows of each.
    pub fn definitions(&self, name: &str) -> impl Iterator<Item = Definition> + use<'_, 'a> {
        self.types.definitions(name)
    }

    /// Every type name, in order of first appearance, with its definitions in file order.
    pub fn type_names(
        &self,
    ) -> impl Iterator<Item = (&'a str, impl Iterator<Item = Definition> + use<'_, 'a>)> {
        self.types.iter()
    }

    /// Variables outside functions that have an address, sorted by it. The first call of this or
    /// [`functions`](Self::functions) walks all units again.
    pub fn globals(&self) -> &[Global<'a>] {
        &self.code().globals
    }

    /// Static variables inside functions, sorted by address. The first call walks all function
    /// bodies, which takes about as long as the index itself.
    pub fn static_locals(&self) -> &[Global<'a>] {
        let scan = || scan::static_locals(&self.dwarf, &self.headers(), &self.signatures);
        self.static_locals.get_or_init(scan)
    }

    /// Address ranges of functions, cold parts included, sorted by start.
    pub fn functions(&self) -> &[FunctionRange] {
        &self.code().functions
    }

    fn code(&self) -> &Code<'a> {
        let scan = || scan::code(&self.dwarf, &self.headers(), &self.signatures);
        self.code.get_or_init(scan)
    }

    fn headers(&self) -> Vec<&UnitHeader<Reader<'a>>> {
        self.units.iter().map(|slot| &slot.header).collect()
    }

    pub(super) fn is_little_endian(&self) -> bool {
        self.endian == RunTimeEndian::Little
    }

    pub(super) fn by_signature(&self, signature: u64) -> Option<DieOffset> {
        self.signatures.get(&signature).copied()
    }

    fn slot_of(&self, die: DieOffset) -> Option<&UnitSlot<'a>> {
        let after = self.units.partition_point(|slot| slot.offset <= die.0);
        let slot = self.units.get(after.checked_sub(1)?)?;
        (die.0 < slot.end).then_some(slot)
    }
}

/// Sections that describe types and addresses; the rest of DWARF is not needed here.
const SECTIONS: [SectionId; 11] = [
    SectionId::DebugAbbrev,
    SectionId::DebugAddr,
    SectionId::DebugInfo,
    SectionId::DebugLine,
    SectionId::DebugLineStr,
    SectionId::DebugLoc,
    SectionId::DebugLocLists,
    SectionId::DebugRanges,
    SectionId::DebugRngLists,
    SectionId::DebugStr,
    SectionId::DebugStrOffsets,
];

fn read_sections<'a>(
    elf: &Elf<'a>,
    store: Option<&'a SectionStore>,
) -> Result<FxHashMap<SectionId, &'a [u8]>, Error> {
    let mut ready = FxHashMap::default();
    let mut changed = Vec::new();
    for id in SECTIONS {
        match elf.section(id.name())? {
            Some(Cow::Borrowed(bytes)) => drop(ready.insert(id, bytes)),
            Some(Cow::Owned(bytes)) => changed.push((id, bytes)),
            None => {}
        }
    }
    if let Some((first, _)) = changed.first() {
        let refuse = Error::NeedsStore {
            section: first.name(),
        };
        let (ids, buffers): (Vec<_>, Vec<_>) = changed.into_iter().unzip();
        let Some(SectionStore(cell)) = store else {
            return Err(refuse);
        };
        cell.set(buffers).map_err(|_| refuse)?;
        let kept = cell.get().into_iter().flatten();
        ready.extend(ids.into_iter().zip(kept.map(Vec::as_slice)));
    }
    Ok(ready)
}

fn read_units<'a>(
    dwarf: &gimli::Dwarf<Reader<'a>>,
) -> Result<(Vec<UnitSlot<'a>>, Signatures), Error> {
    let mut units = Vec::new();
    let mut signatures = Signatures::default();
    let mut headers = dwarf.units();
    let malformed = || Error::dwarf("the unit headers of .debug_info");
    while let Some(header) = headers.next().map_err(malformed())? {
        let Some(offset) = header.debug_info_offset() else {
            continue;
        };
        if let gimli::UnitType::Type {
            type_signature,
            type_offset,
        } = header.type_()
        {
            let die = DieOffset(offset.0.saturating_add(type_offset.0));
            signatures.insert(type_signature.0, die);
        }
        let end = offset.0.saturating_add(header.length_including_self());
        units.push(UnitSlot {
            offset: offset.0,
            end,
            header,
            unit: OnceLock::new(),
        });
    }
    Ok((units, signatures))
}
