//! Index over all units: names and addresses with their entries.
use std::ops::Range;

use gimli::SectionId;
use rustc_hash::FxHashMap;

use super::die::DieOffset;
use super::scopes::ScopeIndex;
use super::unit_names::{NameKey, TypeDefinition, UnitNames};
use crate::DefinitionKind;

/// Variable with a fixed address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GlobalVariable<'a> {
    /// Linked address; for the kernel's per-cpu variables, the offset in the per-cpu block.
    pub address: u64,
    /// Name in the source; empty without one.
    pub name: &'a str,
    /// Entry of its type.
    pub type_die: DieOffset,
    /// Entry of the variable with the address.
    pub die: DieOffset,
}

/// Contiguous address range of a function's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionRange {
    /// First address.
    pub low: u64,
    /// First address behind the range.
    pub high: u64,
    /// Entry of the function.
    pub die: DieOffset,
}

/// Variables and functions of one file, or of one unit.
#[derive(Default)]
pub(super) struct CodeIndex<'s> {
    pub(super) globals: Vec<GlobalVariable<'s>>,
    pub(super) functions: Vec<FunctionRange>,
}

/// Type definitions by name, in rows of flat lists, so that millions of entries stay small.
pub(super) struct TypeNameIndex<'s> {
    rows: FxHashMap<&'s str, u32>,
    names: Vec<&'s str>,
    /// Start of each name's row in the lists below; one more entry than there are names.
    starts: Vec<usize>,
    dies: Vec<DieOffset>,
    sizes: Vec<u32>,
    lines: Vec<u16>,
    kinds: Vec<DefinitionKind>,
    scopes: ScopeIndex<'s>,
}

impl<'s> CodeIndex<'s> {
    /// Joins the indexes of the units.
    pub(super) fn join(units: Vec<Self>) -> Self {
        let mut joined = Self::default();
        for unit in units {
            joined.globals.extend(unit.globals);
            joined.functions.extend(unit.functions);
        }
        joined
            .globals
            .sort_unstable_by_key(|global| (global.address, global.die));
        joined
            .functions
            .sort_unstable_by_key(|function| (function.low, function.high, function.die));
        joined
    }
}

impl<'s> TypeNameIndex<'s> {
    /// Joins the names of the units, given in file order. `text` returns the name at an offset of a
    /// section.
    pub(super) fn join(
        units: &[UnitNames<'s>],
        text: impl Fn(SectionId, usize) -> Option<&'s str>,
    ) -> Self {
        let scopes = ScopeIndex::join(units, &text);
        let total = units.iter().map(|unit| unit.definitions.len()).sum();
        let mut known: FxHashMap<(SectionId, usize), u32> = FxHashMap::default();
        let mut names = NameRows::default();
        let mut row_of = Vec::with_capacity(total);
        for unit in units {
            for (key, _) in &unit.definitions {
                let row = match *key {
                    NameKey::Inline(index) => names.row_of_name(unit.inline[index]),
                    NameKey::InSection(section, offset) => *known
                        .entry((section, offset))
                        .or_insert_with(|| match text(section, offset) {
                            Some(text) => names.row_of_name(text),
                            None => NO_ROW,
                        }),
                };
                row_of.push(row);
            }
        }
        let mut starts = vec![0; names.list.len() + 1];
        for row in row_of.iter().filter(|row| **row != NO_ROW) {
            starts[*row as usize + 1] += 1;
        }
        for row in 1..starts.len() {
            starts[row] += starts[row - 1];
        }
        let kept = starts.last().copied().unwrap_or(0);
        let mut next = starts.clone();
        let mut dies = vec![DieOffset(0); kept];
        let mut sizes = vec![0; kept];
        let mut lines = vec![0; kept];
        let mut kinds = vec![DefinitionKind::Base; kept];
        let definitions = units.iter().flat_map(|unit| &unit.definitions);
        for ((_, definition), row) in definitions.zip(row_of) {
            let Some(at) = next.get_mut(row as usize) else {
                continue;
            };
            dies[*at] = definition.die;
            sizes[*at] = definition.size;
            lines[*at] = definition.line;
            kinds[*at] = definition.kind;
            *at += 1;
        }
        Self {
            rows: names.rows,
            names: names.list,
            starts,
            dies,
            sizes,
            lines,
            kinds,
            scopes,
        }
    }

    /// Scopes of the definitions.
    pub(super) fn scopes(&self) -> &ScopeIndex<'s> {
        &self.scopes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    pub(super) fn find_dies(&self, name: &str) -> &[DieOffset] {
        self.rows
            .get(name)
            .map_or(&[], |&row| &self.dies[self.row_range(row as usize)])
    }

    pub(super) fn definitions(&self, name: &str) -> impl Iterator<Item = TypeDefinition> + use<'_> {
        let row = self.rows.get(name);
        self.row_definitions(row.map_or(0..0, |row| self.row_range(*row as usize)))
    }

    /// Names in order of first appearance, with their definitions in file order.
    pub(super) fn iter(
        &self,
    ) -> impl Iterator<Item = (&'s str, impl Iterator<Item = TypeDefinition> + use<'_, 's>)> {
        let rows = self.names.iter().enumerate();
        rows.map(|(row, name)| (*name, self.row_definitions(self.row_range(row))))
    }

    fn row_definitions(
        &self,
        range: Range<usize>,
    ) -> impl Iterator<Item = TypeDefinition> + use<'_, 's> {
        range.map(|at| TypeDefinition {
            die: self.dies[at],
            size: self.sizes[at],
            line: self.lines[at],
            kind: self.kinds[at],
        })
    }

    fn row_range(&self, row: usize) -> Range<usize> {
        self.starts[row]..self.starts[row + 1]
    }
}

/// Row of a name that is outside its section or not UTF-8.
const NO_ROW: u32 = u32::MAX;

/// Names so far, each with its row.
#[derive(Default)]
struct NameRows<'s> {
    rows: FxHashMap<&'s str, u32>,
    list: Vec<&'s str>,
}

impl<'s> NameRows<'s> {
    fn row_of_name(&mut self, name: &'s str) -> u32 {
        *self.rows.entry(name).or_insert_with(|| {
            self.list.push(name);
            self.list.len() as u32 - 1
        })
    }
}
