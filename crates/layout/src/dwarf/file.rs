//! One ELF file's DWARF: sections, units, and the index over them.

use std::sync::OnceLock;

use gimli::{EndianSlice, RunTimeEndian, UnitOffset};

use super::companions::{Alone, Companions, Missing};
use super::die::{self, Value};
use super::image::{self, Import, TlsSegment};
use super::index::{Code, FunctionRange, Global, TypeNames};
use super::memory::{self, Stretch};
use super::names::{self, Definition, UnitNames};
use super::parts::{UnitSlot, Units};
use super::sections::{Naming, SectionStore, Sections};
use super::symbols::{self, Symbol};
use super::{DieOffset, ScopeId, scan, split, supplementary};
use crate::Error;
use crate::elf::Elf;

/// How this crate reads DWARF: plain slices, endianness known at run time.
pub type Reader<'a> = EndianSlice<'a, RunTimeEndian>;

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
    units: Units<'a>,
    types: TypeNames<'a>,
    missing: Vec<Missing>,
    code: OnceLock<Code<'a>>,
    static_locals: OnceLock<Vec<Global<'a>>>,
    thread_locals: OnceLock<Vec<Global<'a>>>,
    imports: Vec<Import<'a>>,
    tls: Option<TlsSegment>,
}

impl<'a> DwarfFile<'a> {
    /// Reads and indexes all units in parallel, straight from the given bytes.
    ///
    /// # Errors
    /// Not an ELF file, truncated, no DWARF (with or without BTF), malformed DWARF; sections that
    /// must be decompressed or relocated first, for which there is [`parse_in`](Self::parse_in).
    pub fn parse(elf: &'a [u8]) -> Result<Self, Error> {
        Self::parse_with(elf, None, &Alone)
    }

    /// The same for any file: what must be decompressed or relocated is kept in `store`, which
    /// serves one file.
    ///
    /// # Errors
    /// Not an ELF file, truncated, no DWARF (with or without BTF), malformed DWARF, `store` in use.
    pub fn parse_in(elf: &'a [u8], store: &'a SectionStore) -> Result<Self, Error> {
        Self::parse_with(elf, Some(store), &Alone)
    }

    /// The same for a file that refers to others, which `companions` opens. What it does not have
    /// is left out and listed by [`missing`](Self::missing).
    ///
    /// # Errors
    /// As [`parse_in`](Self::parse_in); nothing but split units that are all missing.
    pub fn parse_among(
        elf: &'a [u8],
        store: &'a SectionStore,
        companions: &'a dyn Companions,
    ) -> Result<Self, Error> {
        Self::parse_with(elf, Some(store), companions)
    }

    fn parse_with(
        bytes: &'a [u8],
        store: Option<&'a SectionStore>,
        companions: &'a dyn Companions,
    ) -> Result<Self, Error> {
        let elf = Elf::parse(bytes)?;
        let mut missing = Vec::new();
        let mut units = Units::default();
        if elf.has_section(".debug_info") || elf.has_section(".debug_types") {
            linked(&elf, &mut units, companions, store, &mut missing)?;
        } else if elf.has_section(".debug_info.dwo") {
            let sections = Sections::read(&elf, Naming::Split, store.map(|store| &store.own))?;
            for dwarf in split::alone(&sections)? {
                let new = units.read(dwarf)?;
                units.add(new);
            }
        } else if elf.has_section(".BTF") {
            return Err(Error::NoDwarf);
        }
        if units.parts.is_empty() {
            return Err(Error::no_debug_info(&elf));
        }
        let mut found = names::of_units(&units, 0)?;
        add_split(
            &elf,
            &mut units,
            &mut found,
            companions,
            store,
            &mut missing,
        )?;
        let own = &units.parts[0].dwarf;
        let types = TypeNames::join(&found, |section, offset| names::text(own, section, offset));
        if types.is_empty()
            && let Some(first) = missing.first()
        {
            return Err(Error::NothingButMissing(first.to_string()));
        }
        Ok(Self::of(elf, units, types, missing))
    }

    /// A file of which only the symbols count, whether it has debug information or not: there are
    /// no units, no types, no variables and no functions.
    ///
    /// # Errors
    /// Not an ELF file, truncated.
    pub fn symbols_only(elf: &'a [u8]) -> Result<Self, Error> {
        let elf = Elf::parse(elf)?;
        let mut units = Units::default();
        let none = units.read(gimli::Dwarf::default())?;
        units.add(none);
        Ok(Self::of(
            elf,
            units,
            TypeNames::join(&[], |_, _| None),
            Vec::new(),
        ))
    }

    fn of(elf: Elf<'a>, units: Units<'a>, types: TypeNames<'a>, missing: Vec<Missing>) -> Self {
        Self {
            build_id: elf.build_id(),
            endian: elf.endian(),
            symbols: OnceLock::new(),
            loaded: memory::loaded(&elf),
            imports: image::imports(&elf),
            tls: image::tls(&elf),
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
        let elf = Elf::parse(elf)?;
        self.loaded = memory::loaded(&elf);
        self.imports = image::imports(&elf);
        Ok(self)
    }

    /// Whether there is anything but symbols.
    pub fn has_debug_info(&self) -> bool {
        self.unit_count() > 0
    }

    /// Places that the dynamic linker fills with addresses of named things, sorted by address.
    pub fn imports(&self) -> &[Import<'a>] {
        &self.imports
    }

    /// The thread-local segment, where there is one.
    pub fn tls(&self) -> Option<TlsSegment> {
        self.tls
    }

    /// Files that this one refers to and that could not be used; their types are left out.
    pub fn missing(&self) -> &[Missing] {
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
    pub fn locate(&self, die: DieOffset) -> Option<(&gimli::Unit<Reader<'a>>, UnitOffset)> {
        let slot = self.units.slot_of(die)?;
        Some((self.units.unit(slot)?, UnitOffset(die.0 - slot.start)))
    }

    /// Where an attribute of an entry in the unit of `die` refers to; `None` if it is no reference
    /// or leads to what is missing.
    pub fn follow(&self, die: DieOffset, value: &Value<'_>) -> Option<DieOffset> {
        let slot = self.units.slot_of(die)?;
        self.units.resolve(slot, die::reference(value)?)
    }

    /// Number of units (compilation and type units).
    pub fn unit_count(&self) -> usize {
        self.units.slots.len()
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

    /// The scope that a definition is in; `None` outside of namespaces, modules and classes.
    pub fn scope_of(&self, die: DieOffset) -> Option<ScopeId> {
        self.types.scopes().of(die)
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
    pub fn globals(&self) -> &[Global<'a>] {
        &self.code().globals
    }

    /// Static variables inside functions, sorted by address. The first call walks all function
    /// bodies, which takes about as long as the index itself.
    pub fn static_locals(&self) -> &[Global<'a>] {
        self.static_locals
            .get_or_init(|| scan::static_locals(&self.units))
    }

    /// Thread-local variables, inside functions or not; their addresses are offsets in the file's
    /// thread-local segment, by which they are sorted. The first call walks all units.
    pub fn thread_locals(&self) -> &[Global<'a>] {
        self.thread_locals
            .get_or_init(|| scan::thread_locals(&self.units))
    }

    /// Address ranges of functions, cold parts included, sorted by start.
    pub fn functions(&self) -> &[FunctionRange] {
        &self.code().functions
    }

    fn code(&self) -> &Code<'a> {
        self.code.get_or_init(|| scan::code(&self.units))
    }

    pub(super) fn is_little_endian(&self) -> bool {
        self.endian == RunTimeEndian::Little
    }

    /// The unit whose line table names the files of `slot`, with its sections: a split unit's
    /// skeleton where it has none itself.
    pub(super) fn lines_of(&self, die: DieOffset) -> Option<(&die::Dwarf<'a>, &die::Unit<'a>)> {
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
fn linked<'a>(
    elf: &Elf<'a>,
    units: &mut Units<'a>,
    companions: &'a dyn Companions,
    store: Option<&'a SectionStore>,
    missing: &mut Vec<Missing>,
) -> Result<(), Error> {
    let sections = Sections::read(elf, Naming::Linked, store.map(|store| &store.own))?;
    let mut dwarf = sections.dwarf()?;
    let supplementary = supplementary::attach(elf, &mut dwarf, companions, store);
    let own = units.read(dwarf)?;
    units.add(own);
    match supplementary {
        Ok(Some(dwarf)) => {
            let new = units.read(dwarf)?;
            units.add_supplementary(supplementary::hide_others(units, new));
        }
        Ok(None) => {}
        Err(what) => missing.push(what),
    }
    Ok(())
}

/// Adds the split units that `found` names, and what they hold.
fn add_split<'a>(
    elf: &Elf<'a>,
    units: &mut Units<'a>,
    found: &mut Vec<UnitNames<'a>>,
    companions: &'a dyn Companions,
    store: Option<&'a SectionStore>,
    missing: &mut Vec<Missing>,
) -> Result<(), Error> {
    let skeletons = found.iter_mut().enumerate();
    let wanted: Vec<_> = skeletons
        .filter_map(|(slot, unit)| Some((slot, unit.split.take()?)))
        .collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let before = units.slots.len();
    missing.extend(split::attach(units, elf, wanted, companions, store));
    found.extend(names::of_units(units, before)?);
    Ok(())
}
