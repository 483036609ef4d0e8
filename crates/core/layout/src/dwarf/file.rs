//! One ELF file's DWARF: sections, units, and the index over them.
use std::sync::OnceLock;

use gimli::{RunTimeEndian, UnitOffset};

use super::companions::{CompanionFiles, MissingCompanion, NoCompanions};
use super::die::{self, DieOffset, Reader, Value};
use super::image::{self, ImportSlot, TlsSegment};
use super::index::{CodeIndex, FunctionRange, GlobalVariable, TypeNameIndex};
use super::memory::{self, LoadedSection};
use super::parts::{DwarfUnits, UnitSlot};
use super::scopes::ScopeId;
use super::sections::{DwarfSections, SectionNaming, SectionStore};
use super::symbols::{self, ElfSymbol};
use super::unit_names::{TypeDefinition, UnitNames, section_text};
use super::{names, scan, split, supplementary};
use crate::Error;
use crate::elf::ElfBinary;

/// An indexed file. Shared freely between threads.
///
/// Addresses are as linked: a relocatable object has every section at 0, and per-cpu variables
/// of the kernel have offsets into the per-cpu block.
pub struct DwarfFile<'a> {
    build_id: Option<Vec<u8>>,
    endian: RunTimeEndian,
    elf: ElfBinary<'a>,
    symbols: OnceLock<Vec<ElfSymbol<'a>>>,
    loaded_sections: Vec<LoadedSection<'a>>,
    units: DwarfUnits<'a>,
    types: TypeNameIndex<'a>,
    missing: Vec<MissingCompanion>,
    code: OnceLock<CodeIndex<'a>>,
    static_locals: OnceLock<Vec<GlobalVariable<'a>>>,
    thread_locals: OnceLock<Vec<GlobalVariable<'a>>>,
    imports: Vec<ImportSlot<'a>>,
    tls: Option<TlsSegment>,
}

impl<'a> DwarfFile<'a> {
    /// Reads and indexes all units in parallel, straight from the given bytes.
    ///
    /// # Errors
    /// Not an ELF file, truncated, no DWARF (with or without BTF), malformed DWARF; sections that
    /// must be decompressed or relocated first, for which there is [`parse_in`](Self::parse_in).
    pub fn parse(elf: &'a [u8]) -> Result<Self, Error> {
        Self::parse_units(elf, None, &NoCompanions)
    }

    /// The same for any file: what must be decompressed or relocated is kept in `store`, which
    /// serves one file.
    ///
    /// # Errors
    /// Not an ELF file, truncated, no DWARF (with or without BTF), malformed DWARF, `store` in use.
    pub fn parse_with_store(elf: &'a [u8], store: &'a SectionStore) -> Result<Self, Error> {
        Self::parse_units(elf, Some(store), &NoCompanions)
    }

    /// The same for a file that refers to others, which `companions` opens. What it does not have
    /// is left out and listed by [`missing`](Self::missing).
    ///
    /// # Errors
    /// As [`parse_in`](Self::parse_in); nothing but split units that are all missing.
    pub fn parse_with_companions(
        elf: &'a [u8],
        store: &'a SectionStore,
        companions: &'a dyn CompanionFiles,
    ) -> Result<Self, Error> {
        Self::parse_units(elf, Some(store), companions)
    }

    fn parse_units(
        bytes: &'a [u8],
        store: Option<&'a SectionStore>,
        companions: &'a dyn CompanionFiles,
    ) -> Result<Self, Error> {
        let elf = ElfBinary::parse(bytes)?;
        let mut missing = Vec::new();
        let mut units = DwarfUnits::default();
        if elf.has_section(".debug_info") || elf.has_section(".debug_types") {
            read_linked_units(&elf, &mut units, companions, store, &mut missing)?;
        } else if elf.has_section(".debug_info.dwo") {
            let sections =
                DwarfSections::read(&elf, SectionNaming::Split, store.map(|store| &store.own))?;
            for dwarf in split::read_without_program(&sections)? {
                let new = units.read_part(dwarf)?;
                units.add_part(new);
            }
        } else if elf.has_section(".BTF") {
            return Err(Error::NoDwarf);
        }
        if units.parts.is_empty() {
            return Err(no_debug_info(&elf));
        }
        let mut found = names::scan_type_names(&units, 0)?;
        add_split_units(
            &elf,
            &mut units,
            &mut found,
            companions,
            store,
            &mut missing,
        )?;
        let own = &units.parts[0].dwarf;
        let types =
            TypeNameIndex::join(&found, |section, offset| section_text(own, section, offset));
        if types.is_empty()
            && let Some(first) = missing.first()
        {
            return Err(Error::NothingButMissing(first.to_string()));
        }
        Ok(Self::from_units(elf, units, types, missing))
    }

    /// A file of which only the symbols count, whether it has debug information or not: there are
    /// no units, no types, no variables and no functions.
    ///
    /// # Errors
    /// Not an ELF file, truncated.
    pub fn symbols_only(elf: &'a [u8]) -> Result<Self, Error> {
        let elf = ElfBinary::parse(elf)?;
        let mut units = DwarfUnits::default();
        let none = units.read_part(gimli::Dwarf::default())?;
        units.add_part(none);
        Ok(Self::from_units(
            elf,
            units,
            TypeNameIndex::join(&[], |_, _| None),
            Vec::new(),
        ))
    }

    fn from_units(
        elf: ElfBinary<'a>,
        units: DwarfUnits<'a>,
        types: TypeNameIndex<'a>,
        missing: Vec<MissingCompanion>,
    ) -> Self {
        Self {
            build_id: elf.build_id(),
            endian: elf.endian(),
            symbols: OnceLock::new(),
            loaded_sections: memory::loaded_sections(&elf),
            imports: image::read_imports(&elf),
            tls: image::read_tls(&elf),
            elf,
            units,
            types,
            missing,
            code: OnceLock::new(),
            static_locals: OnceLock::new(),
            thread_locals: OnceLock::new(),
        }
    }

    /// Takes code, initialised data and imports from `elf`, the file that was run, where this one
    /// holds the debug information that was split off it.
    ///
    /// # Errors
    /// Not an ELF file, truncated.
    pub fn with_code_of(mut self, elf: &'a [u8]) -> Result<Self, Error> {
        let elf = ElfBinary::parse(elf)?;
        self.loaded_sections = memory::loaded_sections(&elf);
        self.imports = image::read_imports(&elf);
        Ok(self)
    }

    /// Whether there is anything but symbols.
    pub fn has_debug_info(&self) -> bool {
        self.unit_count() > 0
    }

    /// Places that the dynamic linker fills with addresses of named things, sorted by address.
    pub fn imports(&self) -> &[ImportSlot<'a>] {
        &self.imports
    }

    /// The thread-local segment, where there is one.
    pub fn tls_segment(&self) -> Option<TlsSegment> {
        self.tls
    }

    /// Files that this one refers to and that could not be used; their types are left out.
    pub fn missing_companions(&self) -> &[MissingCompanion] {
        &self.missing
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

    /// The file's own sections as gimli sees them.
    pub fn dwarf(&self) -> &gimli::Dwarf<Reader<'a>> {
        // There always is a part: a file without any is refused.
        &self.units.parts[0].dwarf
    }

    /// The sections that `die` is in: the file's own, or of a file that it refers to. With its unit
    /// they say what its attributes mean.
    pub fn dwarf_of(&self, die: DieOffset) -> &gimli::Dwarf<Reader<'a>> {
        if self.units.parts.len() == 1 {
            return self.dwarf();
        }
        let slot = self.units.slot_of(die);
        slot.map_or(self.dwarf(), |slot| &self.units.part(slot).dwarf)
    }

    /// The unit that holds `die`, and the offset of `die` in it; `None` if no unit does or its header is
    /// malformed.
    pub fn locate_die(&self, die: DieOffset) -> Option<(&gimli::Unit<Reader<'a>>, UnitOffset)> {
        let slot = self.units.slot_of(die)?;
        Some((self.units.unit(slot)?, UnitOffset(die.0 - slot.start)))
    }

    /// Where an attribute of an entry in the unit of `die` refers to; `None` if it is no reference
    /// or leads to what is missing.
    pub fn follow_reference(&self, die: DieOffset, value: &Value<'_>) -> Option<DieOffset> {
        let slot = self.units.slot_of(die)?;
        self.units
            .resolve_reference(slot, die::die_reference(value)?)
    }

    /// Number of units (compilation and type units).
    pub fn unit_count(&self) -> usize {
        self.units.slots.len()
    }

    /// Defined symbols of the ELF file, sorted by address.
    pub fn symbols(&self) -> &[ElfSymbol<'a>] {
        self.symbols
            .get_or_init(|| symbols::sorted_symbols(&self.elf))
    }

    /// `len` bytes of code or initialised data as linked at `address`; `None` where the file has
    /// none, or not that many in one section.
    pub fn bytes_at(&self, address: u64, len: usize) -> Option<&'a [u8]> {
        memory::bytes_at(&self.loaded_sections, address, len)
    }

    /// Complete struct, union, class, typedef, enum and base type definitions of that name
    /// (without `struct` and the like, without namespace), in file order.
    pub fn find_types(&self, name: &str) -> &[DieOffset] {
        self.types.find_dies(name)
    }

    /// The same, with what the index knows of each.
    pub fn definitions(&self, name: &str) -> impl Iterator<Item = TypeDefinition> + use<'_, 'a> {
        self.types.definitions(name)
    }

    /// Every type name, in order of first appearance, with its definitions in file order.
    pub fn type_names(
        &self,
    ) -> impl Iterator<Item = (&'a str, impl Iterator<Item = TypeDefinition> + use<'_, 'a>)> {
        self.types.iter()
    }

    /// The scope that a definition is in; `None` outside of namespaces, modules and classes.
    pub fn scope_of(&self, die: DieOffset) -> Option<ScopeId> {
        self.types.scopes().scope_of(die)
    }

    /// Whether any definition is in a scope; none of C is.
    pub fn has_scopes(&self) -> bool {
        !self.types.scopes().is_empty()
    }

    /// A scope as it is written: `std::__detail`.
    pub fn scope_path(&self, scope: ScopeId) -> String {
        self.types.scopes().path(scope)
    }

    /// Variables outside functions that have an address, sorted by it. The first call of this or
    /// [`functions`](Self::functions) walks all units again.
    pub fn globals(&self) -> &[GlobalVariable<'a>] {
        &self.code_index().globals
    }

    /// Static variables inside functions, sorted by address. The first call walks all function
    /// bodies, which takes about as long as the index itself.
    pub fn static_locals(&self) -> &[GlobalVariable<'a>] {
        self.static_locals
            .get_or_init(|| scan::static_locals(&self.units))
    }

    /// Thread-local variables, inside functions or not; their addresses are offsets in the file's
    /// thread-local segment, by which they are sorted. The first call walks all units.
    pub fn thread_locals(&self) -> &[GlobalVariable<'a>] {
        self.thread_locals
            .get_or_init(|| scan::thread_locals(&self.units))
    }

    /// Address ranges of functions, cold parts included, sorted by start.
    pub fn functions(&self) -> &[FunctionRange] {
        &self.code_index().functions
    }

    fn code_index(&self) -> &CodeIndex<'a> {
        self.code.get_or_init(|| scan::scan_code(&self.units))
    }

    pub(super) fn is_little_endian(&self) -> bool {
        self.endian == RunTimeEndian::Little
    }

    /// The unit whose line table names the files of `slot`, with its sections: a split unit's
    /// skeleton where it has none itself.
    pub(super) fn line_table_unit(
        &self,
        die: DieOffset,
    ) -> Option<(&die::Dwarf<'a>, &die::Unit<'a>)> {
        let mut slot: &UnitSlot<'a> = self.units.slot_of(die)?;
        let mut unit = self.units.unit(slot)?;
        if unit.line_program.is_none()
            && let Some(skeleton) = slot.skeleton
        {
            slot = self.units.slots.get(skeleton)?;
            unit = self.units.unit(slot)?;
        }
        Some((&self.units.part(slot).dwarf, unit))
    }
}

/// Reads the units of a linked file or an object, and of what `dwz` moved out of it.
fn read_linked_units<'a>(
    elf: &ElfBinary<'a>,
    units: &mut DwarfUnits<'a>,
    companions: &'a dyn CompanionFiles,
    store: Option<&'a SectionStore>,
    missing: &mut Vec<MissingCompanion>,
) -> Result<(), Error> {
    let sections = DwarfSections::read(elf, SectionNaming::Linked, store.map(|store| &store.own))?;
    let mut dwarf = sections.dwarf()?;
    let supplementary = supplementary::attach_supplementary(elf, &mut dwarf, companions, store);
    let own = units.read_part(dwarf)?;
    units.add_part(own);
    match supplementary {
        Ok(Some(dwarf)) => {
            let new = units.read_part(dwarf)?;
            units.add_supplementary(supplementary::hide_unimported(units, new));
        }
        Ok(None) => {}
        Err(problem) => missing.push(problem),
    }
    Ok(())
}

/// Adds the split units that `found` names, and what they hold.
fn add_split_units<'a>(
    elf: &ElfBinary<'a>,
    units: &mut DwarfUnits<'a>,
    found: &mut Vec<UnitNames<'a>>,
    companions: &'a dyn CompanionFiles,
    store: Option<&'a SectionStore>,
    missing: &mut Vec<MissingCompanion>,
) -> Result<(), Error> {
    let skeletons = found.iter_mut().enumerate();
    let wanted: Vec<_> = skeletons
        .filter_map(|(slot, unit)| Some((slot, unit.split.take()?)))
        .collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let before = units.slots.len();
    missing.extend(split::attach_split_units(
        units, elf, wanted, companions, store,
    ));
    found.extend(names::scan_type_names(units, before)?);
    Ok(())
}

/// Error for a file without types, by the contents that it has instead.
fn no_debug_info(elf: &ElfBinary<'_>) -> Error {
    match elf.is_link_time() {
        true => Error::LinkTime,
        false => Error::NoDebugInfo,
    }
}
