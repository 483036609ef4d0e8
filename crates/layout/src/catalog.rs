//! The types of one file, whichever format describes them: what `show`, `diff` and `check` ask.
//!
//! A [`Catalog`] knows the names of all definitions and loads those that are asked for: a few into
//! one arena ([`Catalog::load`]), or many, in parallel, into arenas that live only as long as each
//! is looked at ([`Catalog::each`]).

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::abi::{Abi, Target};
use crate::btf::{Btf, BtfId, BtfTypes};
use crate::dwarf::{Alone, Companions, DieOffset, DwarfFile, DwarfTypes, Missing, SectionStore};
use crate::pahole;
use crate::{Aggregate, Error, Type, TypeId, Types};

/// Definitions that share an arena in [`Catalog::each`].
const PIECE: usize = 64;

/// Which debug information to read of a file that has both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// DWARF, or BTF where there is no DWARF.
    #[default]
    Any,
    /// BTF, even where there is DWARF.
    Btf,
}

/// What goes with a file.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// Keeps what must be decompressed or relocated.
    pub store: &'a SectionStore,
    /// Opens the files that DWARF refers to.
    pub companions: &'a dyn Companions,
    /// What split BTF, as of kernel modules, is based on: a vmlinux, or raw BTF.
    pub btf_base: Option<&'a [u8]>,
}

/// The type definitions of one file.
pub struct Catalog<'a> {
    inner: Inner<'a>,
    target: Target,
}

enum Inner<'a> {
    Dwarf(Box<DwarfFile<'a>>),
    Btf(Box<Btf<'a>>),
}

/// A definition in a [`Catalog`]; meaningless in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry<'c> {
    /// Its name, without `struct` and the like.
    pub name: &'c str,
    key: Key,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Key {
    Die(DieOffset),
    Btf(BtfId),
}

/// A few definitions in one arena.
pub struct Loaded {
    /// The arena.
    pub types: Types,
    /// The definitions, as asked for.
    pub ids: Vec<TypeId>,
}

impl<'a> Catalog<'a> {
    /// Reads what describes the types of `bytes`: an ELF file or raw BTF. What must be
    /// decompressed or relocated is kept in `store`.
    ///
    /// # Errors
    /// As [`DwarfFile::parse_in`] and [`Btf::parse`].
    pub fn parse_in(
        bytes: &'a [u8],
        store: &'a SectionStore,
        format: Format,
    ) -> Result<Self, Error> {
        let sources = Sources {
            store,
            companions: &Alone,
            btf_base: None,
        };
        Self::parse_among(bytes, sources, format)
    }

    /// The same for a file that may refer to others.
    ///
    /// # Errors
    /// As [`DwarfFile::parse_among`], [`Btf::parse`] and [`Btf::parse_split`].
    pub fn parse_among(
        bytes: &'a [u8],
        sources: Sources<'a>,
        format: Format,
    ) -> Result<Self, Error> {
        let btf = || match sources.btf_base {
            Some(base) if !std::ptr::eq(base, bytes) => Btf::parse_split(bytes, base),
            _ => Btf::parse(bytes),
        };
        let target = Target::of_elf(bytes).unwrap_or(Target::X86_64);
        let inner = if format == Format::Btf || Btf::is_raw(bytes) {
            Inner::Btf(Box::new(btf()?))
        } else {
            match DwarfFile::parse_among(bytes, sources.store, sources.companions) {
                Ok(file) => Inner::Dwarf(Box::new(file)),
                Err(Error::NoDwarf) => Inner::Btf(Box::new(btf()?)),
                Err(error) => return Err(error),
            }
        };
        Ok(Self { inner, target })
    }

    /// Alignments and shapes of types of this file by the ABI that it was compiled for; by that of
    /// x86-64 for raw BTF, which does not say.
    pub fn abi<'t>(&self, types: &'t Types) -> Abi<'t> {
        Abi::for_target(types, self.target).alignments_recorded(self.knows_alignments())
    }

    /// Files that this one refers to and that could not be used; their types are left out.
    pub fn missing(&self) -> &[Missing] {
        match &self.inner {
            Inner::Dwarf(file) => file.missing(),
            Inner::Btf(_) => &[],
        }
    }

    /// Whether types carry declared alignments; BTF has none.
    pub fn knows_alignments(&self) -> bool {
        matches!(self.inner, Inner::Dwarf(_))
    }

    /// Every name that has a definition, in order of first appearance.
    pub fn names(&self) -> Vec<&str> {
        match &self.inner {
            Inner::Dwarf(file) => file.type_names().map(|(name, _)| name).collect(),
            Inner::Btf(btf) => {
                let mut seen = FxHashSet::default();
                let names = btf.definitions().map(|(name, _, _)| name);
                names.filter(|name| seen.insert(*name)).collect()
            }
        }
    }

    /// Definitions of a name that may differ: structs, unions, classes, enums, typedefs and base
    /// types, in file order. The name may have its scope before it, or the end of it:
    /// `a::b::T`, `b::T`.
    pub fn find<'c>(&'c self, name: &'c str) -> Vec<Entry<'c>> {
        let found = self.find_bare(name);
        match scoped(name) {
            Some((scope, bare)) if found.is_empty() => {
                let mut found = self.find_bare(bare);
                let inside = |around: &str| {
                    let before = around.strip_suffix(scope);
                    before.is_some_and(|before| before.is_empty() || before.ends_with("::"))
                };
                found.retain(|entry| self.scope(entry).is_some_and(|around| inside(&around)));
                found
            }
            _ => found,
        }
    }

    /// The namespaces, modules and classes around a definition: `std::__detail`.
    pub fn scope(&self, entry: &Entry<'_>) -> Option<String> {
        match &self.inner {
            Inner::Dwarf(file) => Some(file.scope_path(file.scope_of(entry.die()?)?)),
            Inner::Btf(_) => None,
        }
    }

    fn find_bare<'c>(&'c self, name: &'c str) -> Vec<Entry<'c>> {
        let entry = |key| Entry { name, key };
        match &self.inner {
            Inner::Dwarf(file) => {
                let dies = file.distinct_types(name).into_iter();
                dies.map(|die| entry(Key::Die(die))).collect()
            }
            Inner::Btf(btf) => {
                let ids = btf.find_types(name).into_iter();
                ids.map(|id| entry(Key::Btf(id))).collect()
            }
        }
    }

    /// All structs, unions and classes, in file order. Of several definitions of a name that are
    /// [the same](pahole::same), the first; so a name may come several times.
    pub fn aggregates(&self) -> Vec<Entry<'_>> {
        let (mut found, mut doubtful) = (Vec::new(), Vec::new());
        let mut sort = |name, keys: &mut dyn ExactSizeIterator<Item = Key>| {
            let into = match keys.len() {
                1 => &mut found,
                _ => &mut doubtful,
            };
            into.extend(keys.map(|key| Entry { name, key }));
        };
        match &self.inner {
            Inner::Dwarf(file) => file
                .distinct_aggregates()
                .for_each(|(name, dies)| sort(name, &mut dies.into_iter().map(Key::Die))),
            Inner::Btf(btf) => {
                let mut ids: Vec<(&str, BtfId)> = btf
                    .definitions()
                    .filter(|(_, _, kind)| kind.is_aggregate())
                    .map(|(name, id, _)| (name, id))
                    .collect();
                ids.sort_unstable();
                for same_name in ids.chunk_by(|a, b| a.0 == b.0) {
                    let keys = same_name.iter().map(|(_, id)| Key::Btf(*id));
                    sort(same_name[0].0, &mut { keys });
                }
            }
        }
        let groups: Vec<&[Entry<'_>]> = doubtful.chunk_by(|a, b| a.name == b.name).collect();
        let kept = groups.par_iter().flat_map_iter(|group| {
            // What cannot be loaded stays, for the caller to run into.
            self.different(group).unwrap_or_else(|_| group.to_vec())
        });
        found.par_extend(kept);
        found.sort_unstable_by_key(|entry| entry.key);
        found
    }

    /// Those of one name's definitions that no earlier one is the same as.
    fn different<'c>(&self, entries: &[Entry<'c>]) -> Result<Vec<Entry<'c>>, Error> {
        self.with_loaded(entries, |types, ids| {
            let mut seen: FxHashMap<u64, Vec<&Aggregate>> = FxHashMap::default();
            let mut kept = Vec::new();
            for (id, entry) in ids.iter().zip(entries) {
                let Type::Aggregate(aggregate) = types.get(*id) else {
                    continue;
                };
                let alike = seen.entry(pahole::places(aggregate)).or_default();
                let is_known = alike
                    .iter()
                    .any(|seen| seen.scope == aggregate.scope && pahole::same(seen, aggregate));
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
    pub fn load(&self, entries: &[Entry<'_>]) -> Result<Loaded, Error> {
        match &self.inner {
            Inner::Dwarf(file) => {
                let mut types = DwarfTypes::new(file);
                let ids = load_dies(&mut types, entries)?;
                Ok(Loaded {
                    types: types.into_types(),
                    ids,
                })
            }
            Inner::Btf(btf) => {
                let mut types = BtfTypes::new(btf);
                let ids = load_ids(&mut types, entries)?;
                Ok(Loaded {
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
    pub fn each<T: Send>(
        &self,
        entries: &[Entry<'_>],
        look: impl Fn(&Types, TypeId, &Entry<'_>) -> T + Sync,
    ) -> Result<Vec<T>, Error> {
        let pieces: Result<Vec<Vec<T>>, Error> = entries
            .par_chunks(PIECE)
            .map(|piece| self.piece(piece, &look))
            .collect();
        Ok(pieces?.into_iter().flatten().collect())
    }

    fn piece<T>(
        &self,
        entries: &[Entry<'_>],
        look: impl Fn(&Types, TypeId, &Entry<'_>) -> T,
    ) -> Result<Vec<T>, Error> {
        self.with_loaded(entries, |types, ids| {
            let pairs = ids.iter().zip(entries);
            pairs.map(|(id, entry)| look(types, *id, entry)).collect()
        })
    }

    /// Calls `then` with an arena that holds the definitions.
    fn with_loaded<T>(
        &self,
        entries: &[Entry<'_>],
        then: impl FnOnce(&Types, &[TypeId]) -> T,
    ) -> Result<T, Error> {
        match &self.inner {
            Inner::Dwarf(file) => {
                let mut types = DwarfTypes::new(file);
                let ids = load_dies(&mut types, entries)?;
                Ok(then(types.types(), &ids))
            }
            Inner::Btf(btf) => {
                let mut types = BtfTypes::new(btf);
                let ids = load_ids(&mut types, entries)?;
                Ok(then(types.types(), &ids))
            }
        }
    }
}

/// `a::b<c::d>::T` in its scope and the name itself; parameters of templates are no scopes.
fn scoped(name: &str) -> Option<(&str, &str)> {
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

impl Entry<'_> {
    fn btf(&self) -> Option<BtfId> {
        match self.key {
            Key::Btf(id) => Some(id),
            Key::Die(_) => None,
        }
    }

    fn die(&self) -> Option<DieOffset> {
        match self.key {
            Key::Die(die) => Some(die),
            Key::Btf(_) => None,
        }
    }
}

fn load_dies(types: &mut DwarfTypes<'_, '_>, entries: &[Entry<'_>]) -> Result<Vec<TypeId>, Error> {
    let dies = entries.iter().filter_map(Entry::die);
    dies.map(|die| types.load(die)).collect()
}

fn load_ids(types: &mut BtfTypes<'_, '_>, entries: &[Entry<'_>]) -> Result<Vec<TypeId>, Error> {
    let ids = entries.iter().filter_map(Entry::btf);
    ids.map(|id| types.load(id)).collect()
}
