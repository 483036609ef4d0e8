//! Type definitions of one file in either format, as `show`, `diff` and `check` read them.
//!
//! A [`TypeCatalog`] knows the names of all definitions. It loads a few definitions into one arena
//! ([`TypeCatalog::load`]), or many in parallel into arenas that are dropped after each has been
//! visited ([`TypeCatalog::map_loaded`]).

use std::borrow::Cow;

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::abi::{AbiEngine, TargetAbi};
use crate::btf::{BtfFile, BtfId, BtfTypeLoader};
use crate::dwarf::{
    CompanionFiles, DieOffset, DwarfFile, DwarfTypeLoader, LanguageUnits, MissingCompanion,
    NoCompanions, SectionStore, TypePlace,
};
use crate::same_definition::{is_same_definition, layout_hash};
use crate::{
    Aggregate, Error, InlineNamespaces, Type, TypeArena, TypeId, TypePattern, canonical_type,
};

/// Units up to this many bytes together are searched for types in functions whenever a name is
/// looked for.
const SMALL_UNITS_BYTES: usize = 16 << 20;
/// Most instances of one template that are spelled anew for a name that is not found.
const RESPELLED_MAX: usize = 4096;
/// Number of definitions that share an arena in [`TypeCatalog::map_loaded`].
const PIECE_ENTRIES: usize = 64;

/// Debug information to read of a file that has both formats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DebugInfoFormat {
    /// DWARF, or BTF where there is no DWARF.
    #[default]
    Any,
    /// BTF, even where there is DWARF.
    Btf,
}

/// Files and memory beside the file itself.
#[derive(Clone, Copy)]
pub struct CatalogInputs<'a> {
    /// Memory for sections that have to be decompressed or relocated.
    pub store: &'a SectionStore,
    /// Files that DWARF refers to.
    pub companions: &'a dyn CompanionFiles,
    /// Base of split BTF, as of kernel modules: a vmlinux, or raw BTF.
    pub btf_base: Option<&'a [u8]>,
}

/// Type definitions of one file.
pub struct TypeCatalog<'a> {
    debug_info: DebugInfo<'a>,
    target: TargetAbi,
}

enum DebugInfo<'a> {
    Dwarf(Box<DwarfFile<'a>>),
    Btf(Box<BtfFile<'a>>),
}

/// Definition in a [`TypeCatalog`]; meaningless in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CatalogEntry<'c> {
    /// Name without `struct` and the like.
    pub name: &'c str,
    key: DefinitionKey,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum DefinitionKey {
    Die(DieOffset),
    Btf(BtfId),
}

/// Some definitions loaded into one arena.
pub struct LoadedTypes {
    /// Arena.
    pub types: TypeArena,
    /// Definitions in the order of the request.
    pub ids: Vec<TypeId>,
}

impl<'a> TypeCatalog<'a> {
    /// Reads the debug information of `bytes`: an ELF file or raw BTF. Sections that have to be
    /// decompressed or relocated are kept in `store`.
    ///
    /// # Errors
    /// Same as [`DwarfFile::parse_with_store`] and [`BtfFile::parse`].
    pub fn parse(
        bytes: &'a [u8],
        store: &'a SectionStore,
        format: DebugInfoFormat,
    ) -> Result<Self, Error> {
        let inputs = CatalogInputs {
            store,
            companions: &NoCompanions,
            btf_base: None,
        };
        Self::parse_with_companions(bytes, inputs, format)
    }

    /// Reads the debug information of a file that may refer to others.
    ///
    /// # Errors
    /// Same as [`DwarfFile::parse_with_companions`], [`BtfFile::parse`] and
    /// [`BtfFile::parse_split`].
    pub fn parse_with_companions(
        bytes: &'a [u8],
        inputs: CatalogInputs<'a>,
        format: DebugInfoFormat,
    ) -> Result<Self, Error> {
        let btf = || match inputs.btf_base {
            Some(base) if !std::ptr::eq(base, bytes) => BtfFile::parse_split(bytes, base),
            _ => BtfFile::parse(bytes),
        };
        let target = TargetAbi::from_elf(bytes).unwrap_or(TargetAbi::X86_64);
        let inner = if format == DebugInfoFormat::Btf || BtfFile::is_raw(bytes) {
            DebugInfo::Btf(Box::new(btf()?))
        } else {
            match DwarfFile::parse_with_companions(bytes, inputs.store, inputs.companions) {
                Ok(file) => DebugInfo::Dwarf(Box::new(file)),
                Err(Error::NoDwarf) => DebugInfo::Btf(Box::new(btf()?)),
                Err(error) => return Err(error),
            }
        };
        Ok(Self {
            debug_info: inner,
            target,
        })
    }

    /// C ABI engine for types of this file, by the ABI that the file was compiled for. Raw BTF does
    /// not tell; it is taken to be of x86-64.
    pub fn abi<'t>(&self, types: &'t TypeArena) -> AbiEngine<'t> {
        AbiEngine::for_target(types, self.target).alignments_recorded(self.knows_alignments())
    }

    /// Files that this one refers to and that could not be used. Their types are left out.
    pub fn missing_companions(&self) -> &[MissingCompanion] {
        match &self.debug_info {
            DebugInfo::Dwarf(file) => file.missing_companions(),
            DebugInfo::Btf(_) => &[],
        }
    }

    /// Returns true if types carry declared alignments. BTF has none.
    pub fn knows_alignments(&self) -> bool {
        matches!(self.debug_info, DebugInfo::Dwarf(_))
    }

    /// Leaves out the definitions in units whose name begins with `prefix`, from now on; returns false for BTF, which
    /// does not know units. To be called once.
    pub fn exclude_units(&self, prefix: &str) -> bool {
        match &self.debug_info {
            DebugInfo::Dwarf(file) => {
                file.exclude_units(prefix);
                true
            }
            DebugInfo::Btf(_) => false,
        }
    }

    /// Name of the unit of a definition and the offset of its entry, where there are units.
    pub fn unit_of(&self, entry: &CatalogEntry<'_>) -> Option<(String, u64)> {
        match &self.debug_info {
            DebugInfo::Dwarf(file) => {
                let die = entry.die()?;
                Some((file.unit_name_of(die)?, die.0 as u64))
            }
            DebugInfo::Btf(_) => None,
        }
    }

    /// Structs with the number of functions' parameters that point to them. In DWARF, each unit counts by itself, with the
    /// inline functions of the headers that it includes.
    ///
    /// # Errors
    /// Malformed BTF.
    pub fn method_counts(&self) -> Result<Vec<(String, u64)>, Error> {
        match &self.debug_info {
            DebugInfo::Dwarf(file) => Ok(file.method_counts()),
            DebugInfo::Btf(btf) => btf.method_counts(),
        }
    }

    /// Names of all definitions, in order of first appearance.
    pub fn type_names(&self) -> Vec<&str> {
        match &self.debug_info {
            DebugInfo::Dwarf(file) => file.type_names().map(|(name, _)| name).collect(),
            DebugInfo::Btf(btf) => {
                let mut seen = FxHashSet::default();
                let names = btf.definitions().map(|(name, _, _)| name);
                names.filter(|name| seen.insert(*name)).collect()
            }
        }
    }

    /// Languages of the compilation units whose types may be read otherwise than their compilers
    /// mean them.
    pub fn unsupported_languages(&self) -> Vec<LanguageUnits> {
        let languages = match &self.debug_info {
            DebugInfo::Dwarf(file) => file.languages(),
            DebugInfo::Btf(_) => &[],
        };
        let unsupported = languages
            .iter()
            .filter(|found| !found.language.is_supported());
        unsupported.copied().collect()
    }

    /// Inline namespaces of C++, which names may leave out.
    pub fn inline_namespaces(&self) -> Cow<'_, InlineNamespaces> {
        match &self.debug_info {
            DebugInfo::Dwarf(file) => Cow::Borrowed(file.inline_namespaces()),
            DebugInfo::Btf(_) => Cow::default(),
        }
    }

    /// Definitions that `pattern` means. Every command finds types by this function.
    ///
    /// An open pattern means structs, unions and classes. Another pattern also means enums,
    /// typedefs and base types, and, where no name fits it otherwise, the only one with further
    /// template arguments that may be defaults. Types in functions are looked for in small files,
    /// and where nothing outside of functions fits. The keyword is not compared.
    pub fn find_matching<'c>(&'c self, pattern: &TypePattern) -> Vec<CatalogEntry<'c>> {
        let mut found = self.find_matching_in(TypePlace::TopLevel, pattern);
        if found.is_empty() || self.has_small_functions() {
            found.extend(self.find_matching_in(TypePlace::Functions, pattern));
        }
        found
    }

    /// Returns true if a search of all functions takes no time that anybody notices.
    fn has_small_functions(&self) -> bool {
        match &self.debug_info {
            DebugInfo::Dwarf(file) => file.unit_bytes() <= SMALL_UNITS_BYTES,
            DebugInfo::Btf(_) => false,
        }
    }

    fn find_matching_in<'c>(
        &'c self,
        place: TypePlace,
        pattern: &TypePattern,
    ) -> Vec<CatalogEntry<'c>> {
        let inline = self.inline_namespaces();
        let fits = |entry: &CatalogEntry<'_>| {
            let scope = self.scope_of(entry);
            pattern.matches_in(scope.as_deref(), entry.name, &inline)
        };
        if pattern.is_open() {
            let mut entries = self.aggregates_in(place);
            entries.retain(|entry| pattern.may_match(entry.name) && fits(entry));
            return entries;
        }
        let own = pattern.name().as_str();
        let exact = self.stored_name(place, own).into_iter();
        let mut found: Vec<CatalogEntry<'c>> = exact
            .flat_map(|name| self.find_unscoped_in(place, name))
            .filter(fits)
            .collect();
        // Other names have one spelling only.
        let is_spelled_in_ways = own.contains([' ', '<', '(', '{']);
        if !found.is_empty() && !is_spelled_in_ways {
            return found;
        }
        let is_other = |name: &&str| *name != own && pattern.may_match(name);
        let names = self.type_names_in(place).into_iter().filter(is_other);
        let others: Vec<CatalogEntry<'c>> = names
            .flat_map(|name| self.find_unscoped_in(place, name))
            .collect();
        found.extend(others.iter().filter(|entry| fits(entry)));
        if found.is_empty() {
            let others = others.iter().copied().take(RESPELLED_MAX);
            found = others
                .filter(|entry| self.is_respelled(entry, pattern, &inline))
                .collect();
        }
        if found.is_empty() {
            found = self.with_defaults(others, pattern, &inline);
        }
        found
    }

    /// Returns true if a compiler would spell the entry as `pattern` does: an enumerator among the
    /// arguments of a template is `Color::Red` by clang, and `(Color)0` by gcc.
    fn is_respelled(
        &self,
        entry: &CatalogEntry<'_>,
        pattern: &TypePattern,
        inline: &InlineNamespaces,
    ) -> bool {
        let (DebugInfo::Dwarf(file), Some(die)) = (&self.debug_info, entry.die()) else {
            return false;
        };
        let scope = self.scope_of(entry);
        let mut names = file.respelled_names(die);
        entry.name.contains('<')
            && names.any(|name| pattern.matches_in(scope.as_deref(), &name, inline))
    }

    /// Definitions of the only name that has the arguments of `pattern`, and others that may be
    /// defaults.
    fn with_defaults<'c>(
        &'c self,
        candidates: Vec<CatalogEntry<'c>>,
        pattern: &TypePattern,
        inline: &InlineNamespaces,
    ) -> Vec<CatalogEntry<'c>> {
        let DebugInfo::Dwarf(file) = &self.debug_info else {
            return Vec::new();
        };
        let loader = DwarfTypeLoader::new(file);
        let mut found = candidates;
        found.retain(|entry| {
            let given = pattern.arguments_before_defaults(entry.name);
            let scope = self.scope_of(entry);
            pattern.fits_scope(scope.as_deref(), inline)
                && given
                    .zip(entry.die())
                    .is_some_and(|(given, die)| loader.may_be_defaults(die, given))
        });
        let mut names = found.iter().map(|entry| canonical_type(entry.name));
        let first = names.next();
        match names.all(|name| Some(name) == first) {
            true => found,
            false => Vec::new(),
        }
    }

    /// Definitions of a name in file order: structs, unions, classes, enums, typedefs and base
    /// types. The name may have its scope or the end of its scope before it: `a::b::T`, `b::T`.
    /// Types in functions are looked for where there are no others.
    pub fn find_definitions<'c>(&'c self, name: &'c str) -> Vec<CatalogEntry<'c>> {
        let found = self.find_definitions_in(TypePlace::TopLevel, name);
        match found.is_empty() {
            true => self.find_definitions_in(TypePlace::Functions, name),
            false => found,
        }
    }

    fn find_definitions_in<'c>(&'c self, place: TypePlace, name: &'c str) -> Vec<CatalogEntry<'c>> {
        let found = self.find_unscoped_in(place, name);
        match split_scope(name) {
            Some((scope, bare)) if found.is_empty() => {
                let mut found = self.find_unscoped_in(place, bare);
                let is_inside = |around: &str| {
                    let before = around.strip_suffix(scope);
                    before.is_some_and(|before| before.is_empty() || before.ends_with("::"))
                };
                found.retain(|entry| {
                    self.scope_of(entry)
                        .is_some_and(|around| is_inside(&around))
                });
                found
            }
            _ => found,
        }
    }

    /// Namespaces, modules, classes and functions around a definition: `std::__detail`, `main()`.
    pub fn scope_of(&self, entry: &CatalogEntry<'_>) -> Option<String> {
        match &self.debug_info {
            DebugInfo::Dwarf(file) => file.full_scope_path(entry.die()?),
            DebugInfo::Btf(_) => None,
        }
    }

    fn find_unscoped_in<'c>(&'c self, place: TypePlace, name: &'c str) -> Vec<CatalogEntry<'c>> {
        let entry = |key| CatalogEntry { name, key };
        match &self.debug_info {
            DebugInfo::Dwarf(file) => {
                let dies = file.distinct_types_in(place, name).into_iter();
                dies.map(|die| entry(DefinitionKey::Die(die))).collect()
            }
            DebugInfo::Btf(btf) if place == TypePlace::TopLevel => {
                let ids = btf.find_types(name).into_iter();
                ids.map(|id| entry(DefinitionKey::Btf(id))).collect()
            }
            DebugInfo::Btf(_) => Vec::new(),
        }
    }

    fn stored_name(&self, place: TypePlace, name: &str) -> Option<&str> {
        match &self.debug_info {
            DebugInfo::Dwarf(file) => file.stored_name(place, name),
            DebugInfo::Btf(btf) if place == TypePlace::TopLevel => btf.stored_name(name),
            DebugInfo::Btf(_) => None,
        }
    }

    fn type_names_in(&self, place: TypePlace) -> Vec<&str> {
        match (&self.debug_info, place) {
            (_, TypePlace::TopLevel) => self.type_names(),
            (DebugInfo::Dwarf(file), TypePlace::Functions) => file.local_type_names(),
            (DebugInfo::Btf(_), TypePlace::Functions) => Vec::new(),
        }
    }

    fn aggregates_in(&self, place: TypePlace) -> Vec<CatalogEntry<'_>> {
        match (&self.debug_info, place) {
            (_, TypePlace::TopLevel) => self.aggregates(),
            (DebugInfo::Dwarf(file), TypePlace::Functions) => {
                let named = file.distinct_local_aggregates().into_iter();
                named
                    .flat_map(|(name, dies)| {
                        let entry = move |die| CatalogEntry {
                            name,
                            key: DefinitionKey::Die(die),
                        };
                        dies.into_iter().map(entry)
                    })
                    .collect()
            }
            (DebugInfo::Btf(_), TypePlace::Functions) => Vec::new(),
        }
    }

    /// All structs, unions and classes in file order. Of equal definitions of a name only the first
    /// is returned; different definitions of a name all are.
    pub fn aggregates(&self) -> Vec<CatalogEntry<'_>> {
        let (mut found, mut repeated) = (Vec::new(), Vec::new());
        let mut sort = |name, keys: &mut dyn ExactSizeIterator<Item = DefinitionKey>| {
            let into = match keys.len() {
                1 => &mut found,
                _ => &mut repeated,
            };
            into.extend(keys.map(|key| CatalogEntry { name, key }));
        };
        match &self.debug_info {
            DebugInfo::Dwarf(file) => file
                .distinct_aggregates()
                .for_each(|(name, dies)| sort(name, &mut dies.into_iter().map(DefinitionKey::Die))),
            DebugInfo::Btf(btf) => {
                let mut ids: Vec<(&str, BtfId)> = btf
                    .definitions()
                    .filter(|(_, _, kind)| kind.is_aggregate())
                    .map(|(name, id, _)| (name, id))
                    .collect();
                ids.sort_unstable();
                for same_name in ids.chunk_by(|a, b| a.0 == b.0) {
                    let keys = same_name.iter().map(|(_, id)| DefinitionKey::Btf(*id));
                    sort(same_name[0].0, &mut { keys });
                }
            }
        }
        let groups: Vec<&[CatalogEntry<'_>]> = repeated.chunk_by(|a, b| a.name == b.name).collect();
        let kept = groups.par_iter().flat_map_iter(|group| {
            // Definitions that cannot be loaded stay, and fail when the caller loads them.
            self.distinct_entries(group)
                .unwrap_or_else(|_| group.to_vec())
        });
        found.par_extend(kept);
        found.sort_unstable_by_key(|entry| entry.key);
        found
    }

    /// Definitions of one name that equal no earlier one.
    fn distinct_entries<'c>(
        &self,
        entries: &[CatalogEntry<'c>],
    ) -> Result<Vec<CatalogEntry<'c>>, Error> {
        self.with_loaded(entries, |types, ids| {
            let mut seen: FxHashMap<u64, Vec<&Aggregate>> = FxHashMap::default();
            let mut kept = Vec::new();
            for (id, entry) in ids.iter().zip(entries) {
                let Type::Aggregate(aggregate) = types.get(*id) else {
                    continue;
                };
                let alike = seen.entry(layout_hash(aggregate)).or_default();
                let is_known = alike.iter().any(|seen| {
                    seen.scope == aggregate.scope && is_same_definition(seen, aggregate)
                });
                if !is_known {
                    alike.push(aggregate);
                    kept.push(*entry);
                }
            }
            kept
        })
    }

    /// Loads some definitions into one arena.
    ///
    /// # Errors
    /// Malformed debug information, types nested too deeply.
    pub fn load(&self, entries: &[CatalogEntry<'_>]) -> Result<LoadedTypes, Error> {
        match &self.debug_info {
            DebugInfo::Dwarf(file) => {
                let mut types = DwarfTypeLoader::new(file);
                let ids = load_dies(&mut types, entries)?;
                Ok(LoadedTypes {
                    types: types.into_types(),
                    ids,
                })
            }
            DebugInfo::Btf(btf) => {
                let mut types = BtfTypeLoader::new(btf);
                let ids = load_btf_ids(&mut types, entries)?;
                Ok(LoadedTypes {
                    types: types.into_types(),
                    ids,
                })
            }
        }
    }

    /// Calls `visit` with each definition and the arena that holds it, in parallel. Results are in
    /// the order of `entries`. An arena is dropped after its definitions have been visited.
    ///
    /// # Errors
    /// Same as [`load`](Self::load).
    pub fn map_loaded<T: Send>(
        &self,
        entries: &[CatalogEntry<'_>],
        visit: impl Fn(&TypeArena, TypeId, &CatalogEntry<'_>) -> T + Sync,
    ) -> Result<Vec<T>, Error> {
        let pieces: Result<Vec<Vec<T>>, Error> = entries
            .par_chunks(PIECE_ENTRIES)
            .map(|piece| self.map_piece(piece, &visit))
            .collect();
        Ok(pieces?.into_iter().flatten().collect())
    }

    fn map_piece<T>(
        &self,
        entries: &[CatalogEntry<'_>],
        visit: impl Fn(&TypeArena, TypeId, &CatalogEntry<'_>) -> T,
    ) -> Result<Vec<T>, Error> {
        self.with_loaded(entries, |types, ids| {
            let pairs = ids.iter().zip(entries);
            pairs.map(|(id, entry)| visit(types, *id, entry)).collect()
        })
    }

    /// Calls `then` with an arena that holds the definitions.
    fn with_loaded<T>(
        &self,
        entries: &[CatalogEntry<'_>],
        then: impl FnOnce(&TypeArena, &[TypeId]) -> T,
    ) -> Result<T, Error> {
        match &self.debug_info {
            DebugInfo::Dwarf(file) => {
                let mut types = DwarfTypeLoader::new(file);
                let ids = load_dies(&mut types, entries)?;
                Ok(then(types.types(), &ids))
            }
            DebugInfo::Btf(btf) => {
                let mut types = BtfTypeLoader::new(btf);
                let ids = load_btf_ids(&mut types, entries)?;
                Ok(then(types.types(), &ids))
            }
        }
    }
}

/// Splits `a::b<c::d>::T` into its scope and its last name. Template arguments are no scopes.
fn split_scope(name: &str) -> Option<(&str, &str)> {
    let mut depth = 0usize;
    let mut last = None;
    for (at, byte) in name.bytes().enumerate() {
        match byte {
            b'<' | b'(' | b'{' => depth += 1,
            b'>' | b')' | b'}' => depth = depth.saturating_sub(1),
            b':' if depth == 0 && name[at..].starts_with("::") => last = Some(at),
            _ => {}
        }
    }
    let (scope, bare) = name.split_at(last?);
    Some((scope, &bare[2..]))
}

impl CatalogEntry<'_> {
    fn btf(&self) -> Option<BtfId> {
        match self.key {
            DefinitionKey::Btf(id) => Some(id),
            DefinitionKey::Die(_) => None,
        }
    }

    fn die(&self) -> Option<DieOffset> {
        match self.key {
            DefinitionKey::Die(die) => Some(die),
            DefinitionKey::Btf(_) => None,
        }
    }
}

fn load_dies(
    types: &mut DwarfTypeLoader<'_, '_>,
    entries: &[CatalogEntry<'_>],
) -> Result<Vec<TypeId>, Error> {
    let dies = entries.iter().filter_map(CatalogEntry::die);
    dies.map(|die| types.load(die)).collect()
}

fn load_btf_ids(
    types: &mut BtfTypeLoader<'_, '_>,
    entries: &[CatalogEntry<'_>],
) -> Result<Vec<TypeId>, Error> {
    let ids = entries.iter().filter_map(CatalogEntry::btf);
    ids.map(|id| types.load(id)).collect()
}
