//! Index over all units: names and addresses with their entries.
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use gimli::SectionId;
use rustc_hash::FxHashMap;
use zerocopy::little_endian::{U16, U32, U64};

use super::die::DieOffset;
use super::kept_index::KeptNames;
use super::language::{LanguageUnits, UnitLanguage};
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

/// Type definitions by name, in rows of flat lists, so that millions of entries stay small. The lists are made by a scan,
/// or lie in [a kept index](super::kept_index).
pub(super) struct TypeNameIndex<'s> {
    pub(super) names: NameTable<'s>,
    pub(super) lists: DefinitionLists<'s>,
    pub(super) scopes: ScopeIndex<'s>,
    /// Languages of the compilation units, by their numbers.
    pub(super) languages: Vec<LanguageUnits>,
    /// True if instances of templates were given arguments that their entries lack in their names.
    pub(super) has_completed_names: bool,
}

/// Names, each with the number of its row.
pub(super) enum NameTable<'s> {
    /// Found by a scan.
    Scanned {
        /// Rows by name.
        rows: FxHashMap<&'s str, u32>,
        /// Names by row.
        list: Vec<&'s str>,
    },
    /// Kept from an earlier scan.
    Kept(KeptNames<'s>),
}

/// Definitions of all names, name by name.
#[derive(Default)]
pub(super) struct DefinitionLists<'s> {
    /// Start of each name's row in the lists below; one more entry than there are names.
    pub(super) starts: Cow<'s, [U64]>,
    /// Offsets of the entries.
    pub(super) dies: Cow<'s, [U64]>,
    pub(super) sizes: Cow<'s, [U32]>,
    pub(super) lines: Cow<'s, [U16]>,
    /// Kinds as numbers.
    pub(super) kinds: Cow<'s, [u8]>,
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
        let mut dies = vec![U64::ZERO; kept];
        let mut sizes = vec![U32::ZERO; kept];
        let mut lines = vec![U16::ZERO; kept];
        let mut kinds = vec![0; kept];
        let definitions = units.iter().flat_map(|unit| &unit.definitions);
        for ((_, definition), row) in definitions.zip(row_of) {
            let Some(at) = next.get_mut(row as usize) else {
                continue;
            };
            dies[*at] = U64::new(definition.die.0 as u64);
            sizes[*at] = U32::new(definition.size);
            lines[*at] = U16::new(definition.line);
            kinds[*at] = definition.kind as u8;
            *at += 1;
        }
        let starts: Vec<U64> = starts.into_iter().map(|at| U64::new(at as u64)).collect();
        Self {
            names: NameTable::Scanned {
                rows: names.rows,
                list: names.list,
            },
            lists: DefinitionLists {
                starts: starts.into(),
                dies: dies.into(),
                sizes: sizes.into(),
                lines: lines.into(),
                kinds: kinds.into(),
            },
            scopes,
            languages: count_languages(units),
            has_completed_names: false,
        }
    }

    /// Scopes of the definitions.
    pub(super) fn scopes(&self) -> &ScopeIndex<'s> {
        &self.scopes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.len() == 0
    }

    /// Name as the index has it.
    pub(super) fn stored_name(&self, name: &str) -> Option<&'s str> {
        self.names.row_of(name).map(|row| self.names.name(row))
    }

    pub(super) fn find_dies(&self, name: &str) -> Vec<DieOffset> {
        self.definitions(name).map(|found| found.die).collect()
    }

    pub(super) fn definitions(&self, name: &str) -> impl Iterator<Item = TypeDefinition> + use<'_> {
        let row = self.names.row_of(name);
        self.row_definitions(row.map_or(0..0, |row| self.lists.row_range(row)))
    }

    /// Names in order of first appearance, with their definitions in file order.
    pub(super) fn iter(
        &self,
    ) -> impl Iterator<Item = (&'s str, impl Iterator<Item = TypeDefinition> + use<'_, 's>)> {
        let rows = 0..self.names.len();
        rows.map(|row| {
            let definitions = self.row_definitions(self.lists.row_range(row));
            (self.names.name(row), definitions)
        })
    }

    fn row_definitions(
        &self,
        range: Range<usize>,
    ) -> impl Iterator<Item = TypeDefinition> + use<'_, 's> {
        range.filter_map(|at| self.lists.definition(at))
    }
}

impl<'s> NameTable<'s> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Scanned { list, .. } => list.len(),
            Self::Kept(names) => names.len(),
        }
    }

    /// Name of a row; empty if a kept index is damaged.
    pub(super) fn name(&self, row: usize) -> &'s str {
        match self {
            Self::Scanned { list, .. } => list[row],
            Self::Kept(names) => names.name(row),
        }
    }

    fn row_of(&self, name: &str) -> Option<usize> {
        match self {
            Self::Scanned { rows, .. } => rows.get(name).map(|row| *row as usize),
            Self::Kept(names) => names.row_of(name),
        }
    }
}

impl DefinitionLists<'_> {
    fn row_range(&self, row: usize) -> Range<usize> {
        let start = |row: usize| self.starts.get(row).map_or(0, |at| at.get() as usize);
        start(row)..start(row + 1).min(self.dies.len())
    }

    fn definition(&self, at: usize) -> Option<TypeDefinition> {
        Some(TypeDefinition {
            die: DieOffset(self.dies.get(at)?.get() as usize),
            size: self.sizes.get(at)?.get(),
            line: self.lines.get(at)?.get(),
            kind: DefinitionKind::from_number(*self.kinds.get(at)?)?,
        })
    }
}

fn count_languages(units: &[UnitNames<'_>]) -> Vec<LanguageUnits> {
    let mut counts: BTreeMap<UnitLanguage, u64> = BTreeMap::new();
    for language in units.iter().filter_map(|unit| unit.language) {
        *counts.entry(language).or_default() += 1;
    }
    let counts = counts.into_iter();
    counts
        .map(|(language, units)| LanguageUnits { language, units })
        .collect()
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
