//! The types of one file, whichever format describes them: what `show`, `diff` and `check` ask.
//!
//! A [`Catalog`] knows the names of all definitions and loads those that are asked for: a few into
//! one arena ([`Catalog::load`]), or many, in parallel, into arenas that live only as long as each
//! is looked at ([`Catalog::each`]).

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::abi::{AbiEngine, TargetAbi};
use crate::btf::{BtfFile, BtfId, BtfTypeLoader};
use crate::dwarf::{
    CompanionFiles, DieOffset, DwarfFile, DwarfTypeLoader, MissingCompanion, NoCompanions,
    SectionStore,
};
use crate::same_definition::{is_same_definition, layout_hash};
use crate::{Aggregate, Error, Type, TypeArena, TypeId};

/// Definitions that share an arena in [`Catalog::each`].
const PIECE_ENTRIES: usize = 64;

/// Which debug information to read of a file that has both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DebugInfoFormat {
    /// DWARF, or BTF where there is no DWARF.
    #[default]
    Any,
    /// BTF, even where there is DWARF.
    Btf,
}

/// What goes with a file.
#[derive(Clone, Copy)]
pub struct CatalogInputs<'a> {
    /// Keeps what must be decompressed or relocated.
    pub store: &'a SectionStore,
    /// Opens the files that DWARF refers to.
    pub companions: &'a dyn CompanionFiles,
    /// What split BTF, as of kernel modules, is based on: a vmlinux, or raw BTF.
    pub btf_base: Option<&'a [u8]>,
}

/// The type definitions of one file.
pub struct TypeCatalog<'a> {
    debug_info: DebugInfo<'a>,
    target: TargetAbi,
}

enum DebugInfo<'a> {
    Dwarf(Box<DwarfFile<'a>>),
    Btf(Box<BtfFile<'a>>),
}

/// A definition in a [`Catalog`]; meaningless in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CatalogEntry<'c> {
    /// Its name, without `struct` and the like.
    pub name: &'c str,
    key: DefinitionKey,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum DefinitionKey {
    Die(DieOffset),
    Btf(BtfId),
}

/// A few definitions in one arena.
pub struct LoadedTypes {
    /// The arena.
    pub types: TypeArena,
    /// The definitions, as asked for.
    pub ids: Vec<TypeId>,
}

impl<'a> TypeCatalog<'a> {
    /// Reads what describes the types of `bytes`: an ELF file or raw BTF. What must be
    /// decompressed or relocated is kept in `store`.
    ///
    /// # Errors
    /// As [`DwarfFile::parse_in`] and [`Btf::parse`].
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

    /// The same for a file that may refer to others.
    ///
    /// # Errors
    /// As [`DwarfFile::parse_among`], [`Btf::parse`] and [`Btf::parse_split`].
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

    /// Alignments and shapes of types of this file by the ABI that it was compiled for; by that of
    /// x86-64 for raw BTF, which does not say.
    pub fn abi<'t>(&self, types: &'t TypeArena) -> AbiEngine<'t> {
        AbiEngine::for_target(types, self.target).alignments_recorded(self.knows_alignments())
    }

    /// Files that this one refers to and that could not be used; their types are left out.
    pub fn missing_companions(&self) -> &[MissingCompanion] {
        match &self.debug_info {
            DebugInfo::Dwarf(file) => file.missing_companions(),
            DebugInfo::Btf(_) => &[],
        }
    }

    /// Whether types carry declared alignments; BTF has none.
    pub fn knows_alignments(&self) -> bool {
        matches!(self.debug_info, DebugInfo::Dwarf(_))
    }

    /// Every name that has a definition, in order of first appearance.
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

    /// Definitions of a name that may differ: structs, unions, classes, enums, typedefs and base
    /// types, in file order. The name may have its scope before it, or the end of it:
    /// `a::b::T`, `b::T`.
    pub fn find_definitions<'c>(&'c self, name: &'c str) -> Vec<CatalogEntry<'c>> {
        let found = self.find_unscoped(name);
        match split_scope(name) {
            Some((scope, bare)) if found.is_empty() => {
                let mut found = self.find_unscoped(bare);
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

    /// The namespaces, modules and classes around a definition: `std::__detail`.
    pub fn scope_of(&self, entry: &CatalogEntry<'_>) -> Option<String> {
        match &self.debug_info {
            DebugInfo::Dwarf(file) => Some(file.scope_path(file.scope_of(entry.die()?)?)),
            DebugInfo::Btf(_) => None,
        }
    }

    fn find_unscoped<'c>(&'c self, name: &'c str) -> Vec<CatalogEntry<'c>> {
        let entry = |key| CatalogEntry { name, key };
        match &self.debug_info {
            DebugInfo::Dwarf(file) => {
                let dies = file.distinct_types(name).into_iter();
                dies.map(|die| entry(DefinitionKey::Die(die))).collect()
            }
            DebugInfo::Btf(btf) => {
                let ids = btf.find_types(name).into_iter();
                ids.map(|id| entry(DefinitionKey::Btf(id))).collect()
            }
        }
    }

    /// All structs, unions and classes, in file order. Of several definitions of a name that are
    /// the same, the first; so a name may come several times.
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
            // What cannot be loaded stays, for the caller to run into.
            self.distinct_entries(group)
                .unwrap_or_else(|_| group.to_vec())
        });
        found.par_extend(kept);
        found.sort_unstable_by_key(|entry| entry.key);
        found
    }

    /// Those of one name's definitions that no earlier one is the same as.
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

    /// Loads a few definitions into one arena.
    ///
    /// # Errors
    /// Malformed debug information, types nested absurdly deep.
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

    /// Calls `look` with each definition and the arena that holds it, in parallel; results are in
    /// the order of `entries`. An arena is gone when its definitions have been looked at.
    ///
    /// # Errors
    /// As [`load`](Self::load).
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

/// `a::b<c::d>::T` in its scope and the name itself; parameters of templates are no scopes.
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
