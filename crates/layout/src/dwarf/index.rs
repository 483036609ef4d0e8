//! What a scan of all units leaves behind: names and addresses with the entries they belong to.

use rustc_hash::FxHashMap;

use super::DieOffset;

/// A variable with a fixed address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Global<'a> {
    /// Link-time address; for the kernel's per-cpu variables, the offset in the per-cpu block.
    pub address: u64,
    /// Name as in the source; empty where there is none.
    pub name: &'a str,
    /// Entry of its type.
    pub type_die: DieOffset,
    /// Entry of the variable itself (the one with the address).
    pub die: DieOffset,
}

/// A contiguous range of a function's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionRange {
    /// First address.
    pub low: u64,
    /// First address after it.
    pub high: u64,
    /// Entry of the function.
    pub die: DieOffset,
}

/// The whole index of one file.
pub(super) struct Index<'s> {
    pub(super) types: TypeNames<'s>,
    pub(super) globals: Vec<Global<'s>>,
    pub(super) functions: Vec<FunctionRange>,
}

/// What one unit contributes.
#[derive(Default)]
pub(super) struct UnitIndex<'s> {
    pub(super) types: Vec<(&'s str, DieOffset)>,
    pub(super) globals: Vec<Global<'s>>,
    pub(super) functions: Vec<FunctionRange>,
}

/// Type definitions by name: rows of one flat list, so that millions of entries stay small.
pub(super) struct TypeNames<'s> {
    rows: FxHashMap<&'s str, u32>,
    names: Vec<&'s str>,
    /// Start of each name's row in `dies`; one more entry than there are names.
    starts: Vec<usize>,
    dies: Vec<DieOffset>,
}

impl<'s> Index<'s> {
    /// Joins the units' parts, given in file order.
    pub(super) fn join(units: Vec<UnitIndex<'s>>) -> Self {
        let types = TypeNames::new(&units);
        let mut globals = Vec::new();
        let mut functions = Vec::new();
        for unit in units {
            globals.extend(unit.globals);
            functions.extend(unit.functions);
        }
        globals.sort_by_key(|global| (global.address, global.die));
        functions.sort_by_key(|function| (function.low, function.high, function.die));
        Self {
            types,
            globals,
            functions,
        }
    }
}

impl<'s> TypeNames<'s> {
    fn new(units: &[UnitIndex<'s>]) -> Self {
        let total = units.iter().map(|unit| unit.types.len()).sum();
        let mut rows: FxHashMap<&'s str, u32> = FxHashMap::default();
        let mut names = Vec::new();
        let mut counts: Vec<usize> = Vec::new();
        let mut row_of = Vec::with_capacity(total);
        for (name, _) in units.iter().flat_map(|unit| &unit.types) {
            let row = *rows.entry(name).or_insert_with(|| {
                names.push(*name);
                counts.push(0);
                names.len() as u32 - 1
            });
            counts[row as usize] += 1;
            row_of.push(row);
        }
        let mut starts = Vec::with_capacity(names.len() + 1);
        let mut sum = 0;
        starts.push(0);
        for count in counts {
            sum += count;
            starts.push(sum);
        }
        let mut next = starts.clone();
        let mut dies = vec![DieOffset(0); total];
        for ((_, die), row) in units.iter().flat_map(|unit| &unit.types).zip(row_of) {
            dies[next[row as usize]] = *die;
            next[row as usize] += 1;
        }
        Self {
            rows,
            names,
            starts,
            dies,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    pub(super) fn find(&self, name: &str) -> &[DieOffset] {
        self.rows
            .get(name)
            .map_or(&[], |&row| self.row(row as usize))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &[DieOffset])> {
        self.names
            .iter()
            .enumerate()
            .map(|(row, name)| (*name, self.row(row)))
    }

    fn row(&self, row: usize) -> &[DieOffset] {
        &self.dies[self.starts[row]..self.starts[row + 1]]
    }
}
