//! DWARF of one ELF file: sections, units, and the index over them.
use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use gimli::{RunTimeEndian, UnitOffset};
use object::{Object as _, ObjectSection as _};

use super::companions::{CompanionFiles, MissingCompanion, NoCompanions};
use super::die::{self, DieOffset, Reader, Value};
use super::image::{self, ImportSlot, TlsSegment};
use super::index::{CodeIndex, FunctionRange, GlobalVariable, TypeNameIndex};
use super::kept_index;
use super::language::{LanguageUnits, UnitLanguage};
use super::memory::{self, LoadedSection};
use super::parts::{DwarfUnits, UnitSlot};
use super::scopes::ScopeId;
use super::sections::{DwarfSections, SectionNaming, SectionStore};
use super::symbols::{self, ElfSymbol};
use super::template_names::{InstanceNamer, ScopeSource};
use super::unit_names::{TypeDefinition, UnitNames, section_text};
use super::{names, scan, split, supplementary, template_names};
use crate::elf::{ElfBinary, with_elf};
use crate::links::build_id_text;
use crate::{Error, InlineNamespaces};

/// Indexed DWARF of a file, which threads can share.
///
/// Addresses are those of the linker. A relocatable object has every section at 0, and per-cpu
/// variables of the kernel have offsets into the per-cpu block.
pub struct DwarfFile<'a> {
    build_id: Option<Vec<u8>>,
    endian: RunTimeEndian,
    elf: ElfBinary<'a>,
    symbols: OnceLock<Vec<ElfSymbol<'a>>>,
    loaded_sections: Vec<LoadedSection<'a>>,
    pub(super) units: DwarfUnits<'a>,
    types: TypeNameIndex<'a>,
    store: Option<&'a SectionStore>,
    /// Types in functions, which are looked for where a name is not found outside of them.
    local_types: OnceLock<TypeNameIndex<'a>>,
    inline_namespaces: OnceLock<InlineNamespaces>,
    missing: Vec<MissingCompanion>,
    code: OnceLock<CodeIndex<'a>>,
    static_locals: OnceLock<Vec<GlobalVariable<'a>>>,
    nested_functions: OnceLock<Vec<FunctionRange>>,
    thread_locals: OnceLock<Vec<GlobalVariable<'a>>>,
    imports: Vec<ImportSlot<'a>>,
    tls: Option<TlsSegment>,
    /// Units whose definitions are left out, sorted.
    excluded: OnceLock<Vec<Range<usize>>>,
}

/// Place of type definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TypePlace {
    /// Outside of functions.
    TopLevel,
    /// In functions.
    Functions,
}

impl<'a> DwarfFile<'a> {
    /// Reads and indexes all units in parallel, straight from the given bytes.
    ///
    /// # Errors
    /// Not an ELF file, truncated, no DWARF (with or without BTF), malformed DWARF. Sections that
    /// have to be decompressed or relocated need [`parse_with_store`](Self::parse_with_store).
    pub fn parse(elf: &'a [u8]) -> Result<Self, Error> {
        Self::parse_units(elf, None, &NoCompanions)
    }

    /// Reads and indexes any file. Sections that have to be decompressed or relocated are kept in
    /// `store`, which serves one file.
    ///
    /// # Errors
    /// Not an ELF file, truncated, no DWARF (with or without BTF), malformed DWARF, `store` in use.
    pub fn parse_with_store(elf: &'a [u8], store: &'a SectionStore) -> Result<Self, Error> {
        Self::parse_units(elf, Some(store), &NoCompanions)
    }

    /// Reads and indexes a file that refers to others, which `companions` returns. Missing files
    /// are left out and listed by [`missing_companions`](Self::missing_companions).
    ///
    /// # Errors
    /// Same as [`parse_with_store`](Self::parse_with_store); a file with nothing but split units
    /// that are all missing.
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
        if units.parts.len() == 1
            && missing.is_empty()
            && let Some(types) = companions.type_index().and_then(kept_index::read_index)
        {
            return Ok(Self::from_units(elf, units, types, missing, store));
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
        let has_completed_names = store.is_some_and(|store| {
            template_names::complete_names(&units, &mut found, None, &store.instance_names)
        });
        let own = &units.parts[0].dwarf;
        let types = TypeNameIndex {
            has_completed_names,
            ..TypeNameIndex::join(&found, |section, offset| section_text(own, section, offset))
        };
        if types.is_empty() && !missing.is_empty() {
            return Err(Error::NothingButMissing(missing.swap_remove(0)));
        }
        if units.parts.len() == 1 && missing.is_empty() {
            companions.keep_type_index(&|| kept_index::write_index(&types));
        }
        Ok(Self::from_units(elf, units, types, missing, store))
    }

    /// Reads the symbols of a file with or without debug information. The result has no units,
    /// types, variables and functions.
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
            None,
        ))
    }

    fn from_units(
        elf: ElfBinary<'a>,
        units: DwarfUnits<'a>,
        types: TypeNameIndex<'a>,
        missing: Vec<MissingCompanion>,
        store: Option<&'a SectionStore>,
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
            store,
            local_types: OnceLock::new(),
            inline_namespaces: OnceLock::new(),
            missing,
            code: OnceLock::new(),
            static_locals: OnceLock::new(),
            nested_functions: OnceLock::new(),
            thread_locals: OnceLock::new(),
            excluded: OnceLock::new(),
        }
    }

    /// Takes code, initialised data and imports from `elf`, the file that ran, if this file holds
    /// only the debug information that was split off it.
    ///
    /// # Errors
    /// Not an ELF file, truncated.
    pub fn with_code_of(mut self, elf: &'a [u8]) -> Result<Self, Error> {
        let elf = ElfBinary::parse(elf)?;
        self.loaded_sections = memory::loaded_sections(&elf);
        self.imports = image::read_imports(&elf);
        Ok(self)
    }

    /// Returns true if there is more than symbols.
    pub fn has_debug_info(&self) -> bool {
        self.unit_count() > 0
    }

    /// Slots that the dynamic linker fills with addresses of named symbols, sorted by address.
    pub fn imports(&self) -> &[ImportSlot<'a>] {
        &self.imports
    }

    /// Thread-local segment, where there is one.
    pub fn tls_segment(&self) -> Option<TlsSegment> {
        self.tls
    }

    /// Files that this one refers to and that could not be used. Their types are left out.
    pub fn missing_companions(&self) -> &[MissingCompanion] {
        &self.missing
    }

    /// Build id by the linker, where there is one.
    pub fn build_id(&self) -> Option<Vec<u8>> {
        self.build_id.clone()
    }

    /// Build id in lower-case hexadecimal.
    pub fn build_id_text(&self) -> Option<String> {
        let id = self.build_id.as_ref()?;
        Some(build_id_text(id))
    }

    /// Sections of the file itself, as gimli reads them.
    pub fn dwarf(&self) -> &gimli::Dwarf<Reader<'a>> {
        // A file without parts is refused.
        &self.units.parts[0].dwarf
    }

    /// Sections that `die` is in: of the file itself, or of a file that it refers to. They and the
    /// unit give meaning to its attributes.
    pub fn dwarf_of(&self, die: DieOffset) -> &gimli::Dwarf<Reader<'a>> {
        if self.units.parts.len() == 1 {
            return self.dwarf();
        }
        let slot = self.units.slot_of(die);
        slot.map_or(self.dwarf(), |slot| &self.units.part(slot).dwarf)
    }

    /// Unit that holds `die`, and the offset of `die` in it; `None` without such a unit, or if its
    /// header is malformed.
    pub fn locate_die(&self, die: DieOffset) -> Option<(&gimli::Unit<Reader<'a>>, UnitOffset)> {
        let slot = self.units.slot_of(die)?;
        Some((self.units.unit(slot)?, UnitOffset(die.0 - slot.start)))
    }

    /// Target of a reference attribute of an entry in the unit of `die`; `None` for other
    /// attributes and for missing targets.
    pub fn follow_reference(&self, die: DieOffset, value: &Value<'_>) -> Option<DieOffset> {
        let slot = self.units.slot_of(die)?;
        self.units
            .resolve_reference(slot, die::die_reference(value)?)
    }

    /// Name of the unit that holds `die`: the source file, as the compiler was given it.
    pub(crate) fn unit_name_of(&self, die: DieOffset) -> Option<String> {
        let slot = self.units.slot_of(die)?;
        self.unit_name(slot)
    }

    fn unit_name(&self, slot: &UnitSlot<'a>) -> Option<String> {
        let name = self.units.unit(slot)?.name?;
        Some(name.to_string_lossy().into_owned())
    }

    /// Leaves out the definitions of the units whose name begins with `prefix`. To be called once.
    pub(crate) fn exclude_units(&self, prefix: &str) {
        let is_excluded = |slot: &&UnitSlot<'a>| {
            let name = self.unit_name(slot);
            name.is_some_and(|name| name.starts_with(prefix))
        };
        let slots = self.units.slots.iter().filter(is_excluded);
        // The second of two calls changes nothing.
        let _ = { &self.excluded }.set(slots.map(|slot| slot.start..slot.end).collect());
    }

    pub(super) fn is_excluded(&self, die: DieOffset) -> bool {
        self.excluded.get().is_some_and(|excluded| {
            let after = excluded.partition_point(|unit| unit.start <= die.0);
            let before = after.checked_sub(1).and_then(|at| excluded.get(at));
            before.is_some_and(|unit| unit.contains(&die.0))
        })
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

    /// Symbols at exactly `address`, larger before smaller.
    pub fn symbols_at(&self, address: u64) -> impl Iterator<Item = &ElfSymbol<'a>> {
        let first = self.symbols().partition_point(|s| s.address < address);
        let rest = &self.symbols()[first..];
        rest.iter().take_while(move |s| s.address == address)
    }

    /// Symbols at `address` or before it, the nearest first.
    pub fn symbols_up_to(&self, address: u64) -> impl Iterator<Item = &ElfSymbol<'a>> {
        let after = self.symbols().partition_point(|s| s.address <= address);
        self.symbols()[..after].iter().rev()
    }

    /// `len` bytes of code or initialised data at the linked `address`; `None` if no section of the
    /// file has them all.
    pub fn bytes_at(&self, address: u64, len: usize) -> Option<&'a [u8]> {
        memory::bytes_at(&self.loaded_sections, address, len)
    }

    /// Addresses of the section of that name; `None` without such a section.
    pub fn section_addresses(&self, name: &str) -> Option<Range<u64>> {
        let found = with_elf!(self.elf, file => {
            let section = file.section_by_name(name)?;
            (section.address(), section.size())
        });
        Some(found.0..found.0.saturating_add(found.1))
    }

    /// Complete struct, union, class, typedef, enum and base type definitions of that name in file
    /// order. The name has no `struct` and the like, and no namespace.
    pub fn find_types(&self, name: &str) -> Vec<DieOffset> {
        self.types.find_dies(name)
    }

    /// Definitions of that name with their kind, size and line.
    pub fn definitions(&self, name: &str) -> impl Iterator<Item = TypeDefinition> + use<'_, 'a> {
        self.types.definitions(name)
    }

    /// Names of types in order of first appearance, with their definitions in file order.
    pub fn type_names(
        &self,
    ) -> impl Iterator<Item = (&'a str, impl Iterator<Item = TypeDefinition> + use<'_, 'a>)> {
        self.types.iter()
    }

    /// Languages of the compilation units.
    pub fn languages(&self) -> &[LanguageUnits] {
        &self.types.languages
    }

    /// Inline namespaces of C++.
    pub fn inline_namespaces(&self) -> &InlineNamespaces {
        let find = || self.types.scopes().inline_namespaces();
        self.inline_namespaces.get_or_init(find)
    }

    /// Returns true if all units are in the file itself.
    pub(super) fn has_one_part(&self) -> bool {
        self.units.parts.len() == 1
    }

    /// Bytes of all units together.
    pub(crate) fn unit_bytes(&self) -> usize {
        let ends = self.units.slots.iter().map(|slot| slot.end - slot.start);
        ends.fold(0, usize::saturating_add)
    }

    /// Name outside or inside functions, as the index has it.
    pub(crate) fn stored_name(&self, place: TypePlace, name: &str) -> Option<&'a str> {
        self.types_in(place).stored_name(name)
    }

    /// Definitions of all types outside or inside functions, by name.
    pub(super) fn types_in(&self, place: TypePlace) -> &TypeNameIndex<'a> {
        match place {
            TypePlace::TopLevel => &self.types,
            TypePlace::Functions => self.local_types.get_or_init(|| self.find_local_types()),
        }
    }

    fn find_local_types(&self) -> TypeNameIndex<'a> {
        let mut found = names::scan_local_names(&self.units);
        let around = Some(self.types.scopes());
        if let Some(store) = self.store {
            let names = &store.local_instance_names;
            template_names::complete_names(&self.units, &mut found, around, names);
        }
        let own = self.dwarf();
        TypeNameIndex::join(&found, |section, offset| section_text(own, section, offset))
    }

    /// Path of the scope of a definition, also of one inside functions that were searched.
    pub(crate) fn full_scope_path(&self, die: DieOffset) -> Option<String> {
        let local = || self.local_types.get()?.scopes().path_of(die);
        self.types.scopes().path_of(die).or_else(local)
    }

    /// Name of the struct, union or class at `die`, whose entry is called `name`: with the
    /// arguments of its template, which the name may lack (`-gsimple-template-names`).
    pub fn name_with_arguments<'n>(&self, die: DieOffset, name: &'n str) -> Cow<'n, str> {
        if !self.types.has_completed_names || name.contains('<') || !self.is_of_cxx(die) {
            return Cow::Borrowed(name);
        }
        let scopes = ScopeSource::Joined(self.types.scopes());
        let completed = InstanceNamer::new(&self.units, scopes).instance_name(die);
        completed.map_or(Cow::Borrowed(name), Cow::Owned)
    }

    /// Returns true if an entry is of C++, or of a unit that states no language in a file without
    /// others.
    fn is_of_cxx(&self, die: DieOffset) -> bool {
        let unit = self.locate_die(die).map(|(unit, _)| unit);
        match unit.and_then(UnitLanguage::of_unit) {
            Some(language) => language.is_cxx(),
            None => {
                let languages = self.languages().iter();
                template_names::is_only_c_and_cxx(languages.map(|found| found.language))
            }
        }
    }

    /// Names of an instance of a template in the spellings of clang and gcc, by its parameters.
    pub(crate) fn respelled_names(&self, die: DieOffset) -> impl Iterator<Item = String> {
        let namer = || InstanceNamer::new(&self.units, ScopeSource::Joined(self.types.scopes()));
        let spellings = [false, true].into_iter();
        spellings.filter_map(move |by_gcc| namer().respelled_name(die, by_gcc))
    }

    /// Scope of a definition or declaration; `None` outside of namespaces, modules and classes.
    pub fn scope_of(&self, die: DieOffset) -> Option<ScopeId> {
        self.types.scopes().scope_of(die)
    }

    /// Returns true if any definition is in a scope. None of C is.
    pub fn has_scopes(&self) -> bool {
        !self.types.scopes().is_empty()
    }

    /// Scope as C++ and Rust write it: `std::__detail`.
    pub fn scope_path(&self, scope: ScopeId) -> String {
        self.types.scopes().path(scope)
    }

    /// Variables outside functions that have an address, sorted by address. The first call of this
    /// or [`functions`](Self::functions) walks all units again.
    pub fn globals(&self) -> &[GlobalVariable<'a>] {
        &self.code_index().globals
    }

    /// Static variables inside functions, sorted by address. The first call walks all function
    /// bodies, which takes about as long as the index itself.
    pub fn static_locals(&self) -> &[GlobalVariable<'a>] {
        self.static_locals
            .get_or_init(|| scan::static_locals(&self.units))
    }

    /// Thread-local variables, inside functions or not, sorted by address. Their addresses are
    /// offsets in the file's thread-local segment. The first call walks all units.
    pub fn thread_locals(&self) -> &[GlobalVariable<'a>] {
        self.thread_locals
            .get_or_init(|| scan::thread_locals(&self.units))
    }

    /// Address ranges of functions, including cold parts, sorted by start.
    pub fn functions(&self) -> &[FunctionRange] {
        &self.code_index().functions
    }

    /// Address ranges of functions inside functions, which [`functions`](Self::functions) lacks,
    /// sorted by start: what the compiler outlined of an OpenMP loop, and functions of local classes.
    /// The first call walks all function bodies.
    pub fn nested_functions(&self) -> &[FunctionRange] {
        self.nested_functions
            .get_or_init(|| scan::nested_functions(&self.units))
    }

    fn code_index(&self) -> &CodeIndex<'a> {
        self.code.get_or_init(|| scan::scan_code(&self.units))
    }

    pub(super) fn is_little_endian(&self) -> bool {
        self.endian == RunTimeEndian::Little
    }

    /// Unit whose line table names the files of `die`, with its sections: a split unit without a
    /// line table uses its skeleton's.
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

/// Reads the units of a linked file or an object, and of the supplementary file by `dwz`.
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

/// Adds the split units that `found` names, and the type names in them.
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

/// Error for a file without types.
fn no_debug_info(elf: &ElfBinary<'_>) -> Error {
    match elf.is_link_time() {
        true => Error::LinkTime,
        false => Error::NoDebugInfo,
    }
}
