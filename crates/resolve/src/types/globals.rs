//! From a link-time address to the variable there.

use std::sync::OnceLock;

use relayout_layout::TypeId;
use relayout_layout::dwarf::{DieOffset, DwarfFile, Global, Symbol};

use super::{Die, TypeStore, die};
use crate::images::FileId;

/// Variables and symbols before an address that are tried.
const CANDIDATES_MAX: usize = 8;

/// A variable that holds an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable<'f> {
    name: Name<'f>,
    /// Its first byte.
    pub start: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its type; `None` where only the symbol table knows it.
    pub ty: Option<TypeId>,
}

/// Where a variable's name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name<'f> {
    Symbol(&'f str),
    Entry(DieOffset),
}

/// A variable as the debug information places it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Placed {
    /// As linked; of a thread-local one, its offset in the file's segment.
    pub address: u64,
    /// Entry of its type.
    pub ty: DieOffset,
    /// Its own entry.
    pub entry: DieOffset,
}

/// All variables of one file with a fixed address, static ones inside functions included; and those
/// with a fixed place in each thread's own block.
pub struct Globals<'f, 'a> {
    file: &'f DwarfFile<'a>,
    id: FileId,
    typed: Vec<Placed>,
    /// Read when a program's thread-local memory is met.
    threads: OnceLock<Vec<Placed>>,
    /// End of the per-cpu offsets, which are addresses from 0 up; 0 in programs.
    per_cpu_end: u64,
    this_cpu_off: Option<u64>,
    per_cpu_offset: Option<(u64, u64)>,
}

impl<'f, 'a> Globals<'f, 'a> {
    /// Those of `file`, whose number is `id`: `known`, by address, or else all that are found in it.
    pub fn new(file: &'f DwarfFile<'a>, id: FileId, known: Option<&[Placed]>) -> Self {
        let find = || placed(file.globals().iter().chain(file.static_locals()));
        let symbol = |name: &str| file.symbols().iter().find(|s| s.name == name);
        Self {
            file,
            id,
            typed: known.map_or_else(find, <[Placed]>::to_vec),
            threads: OnceLock::new(),
            per_cpu_end: symbol("__per_cpu_end").map_or(0, |s| s.address),
            this_cpu_off: symbol("this_cpu_off").map(|s| s.address),
            per_cpu_offset: symbol("__per_cpu_offset").map(|s| (s.address, s.address + s.size)),
        }
    }

    /// All that have a fixed address, sorted by it.
    pub fn placed(&self) -> &[Placed] {
        &self.typed
    }

    /// A variable's name; empty where it has none.
    pub fn name_of(&self, variable: &Variable<'f>) -> &'f str {
        match variable.name {
            Name::Symbol(name) => name,
            Name::Entry(entry) => die::name_of(self.file, entry).unwrap_or_default(),
        }
    }

    /// The variable that holds a per-cpu offset.
    pub fn per_cpu(&self, store: &TypeStore<'f, 'a>, offset: u64) -> Option<Variable<'f>> {
        (offset < self.per_cpu_end)
            .then(|| self.find(store, offset))
            .flatten()
    }

    /// The variable that holds an address of the image.
    pub fn image(&self, store: &TypeStore<'f, 'a>, address: u64) -> Option<Variable<'f>> {
        (address >= self.per_cpu_end.max(4096))
            .then(|| self.find(store, address))
            .flatten()
    }

    /// The variable that holds an offset of the file's thread-local segment.
    pub fn thread_local(&self, store: &TypeStore<'f, 'a>, offset: u64) -> Option<Variable<'f>> {
        let all = self
            .threads
            .get_or_init(|| placed(self.file.thread_locals().iter()));
        let found = self.typed(all, store, offset);
        found.or_else(|| self.symbol(|s| s.is_thread_local(), offset))
    }

    /// Whether the per-cpu word at `offset` is the distance to the CPU's own area.
    pub fn is_this_cpu_off(&self, offset: u64) -> bool {
        self.this_cpu_off == Some(offset)
    }

    /// Whether `address` is in the table of those distances.
    pub fn is_per_cpu_offset(&self, address: u64) -> bool {
        self.per_cpu_offset
            .is_some_and(|(start, end)| (start..end).contains(&address))
    }

    fn find(&self, store: &TypeStore<'f, 'a>, address: u64) -> Option<Variable<'f>> {
        let found = self.typed(&self.typed, store, address);
        found.or_else(|| self.symbol(|s| s.is_object(), address))
    }

    fn typed(
        &self,
        all: &[Placed],
        store: &TypeStore<'f, 'a>,
        address: u64,
    ) -> Option<Variable<'f>> {
        let after = all.partition_point(|g| g.address <= address);
        let near = all[..after].iter().rev().take(CANDIDATES_MAX);
        near.filter_map(|placed| {
            let ty = store.load(Die {
                file: self.id,
                offset: placed.ty,
            })?;
            let start = placed.address;
            let bytes = store.types().size_of(ty).filter(|&b| b > 0);
            let bytes = bytes.or_else(|| self.symbol_size(placed))?;
            (address - start < bytes).then_some(Variable {
                name: Name::Entry(placed.entry),
                start,
                bytes,
                ty: Some(ty),
            })
        })
        .next()
    }

    fn symbol_size(&self, of: &Placed) -> Option<u64> {
        let (start, name) = (of.address, die::name_of(self.file, of.entry)?);
        let symbols = self.file.symbols();
        let first = symbols.partition_point(|s| s.address < start);
        let same = symbols[first..].iter().take_while(|s| s.address == start);
        same.filter(|s| s.name == name).map(|s| s.size).next()
    }

    fn symbol(&self, is_kind: IsKind, address: u64) -> Option<Variable<'f>> {
        let symbols = self.file.symbols();
        let after = symbols.partition_point(|s| s.address <= address);
        let near = symbols[..after].iter().rev().take(CANDIDATES_MAX);
        let holds = |s: &&Symbol<'_>| is_kind(s) && address - s.address < s.size;
        let symbol = { near }.find(holds)?;
        Some(Variable {
            name: Name::Symbol(symbol.name),
            start: symbol.address,
            bytes: symbol.size,
            ty: None,
        })
    }
}

/// Which symbols count.
type IsKind = fn(&Symbol<'_>) -> bool;

fn placed<'g>(all: impl Iterator<Item = &'g Global<'g>>) -> Vec<Placed> {
    let place = |g: &Global<'_>| Placed {
        address: g.address,
        ty: g.type_die,
        entry: g.die,
    };
    let mut placed: Vec<Placed> = all.map(place).collect();
    placed.sort_unstable();
    placed
}
