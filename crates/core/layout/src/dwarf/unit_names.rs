//! Type names and definitions of one unit, before the units are joined.
use gimli::SectionId;

use super::companions::SplitUnit;
use super::die::{DieOffset, Dwarf};
use crate::DefinitionKind;

/// A type definition as the index knows it, without loading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeDefinition {
    /// Its entry.
    pub die: DieOffset,
    /// `sizeof` in bytes; `u32::MAX` where the entry does not say, or more than fits.
    pub size: u32,
    /// Lower half of the line of its declaration; 0 where the entry does not say.
    pub line: u16,
    /// What it is.
    pub kind: DefinitionKind,
}

/// Where a name is: compared instead of the text, since linkers keep each string once. Names that
/// are not in the file itself (in a `.dwo`) are looked up at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum NameKey {
    /// Offset in this section.
    InSection(SectionId, usize),
    /// Index in [`UnitNames::inline`].
    Inline(usize),
}

/// The definitions of one unit, in file order.
#[derive(Default)]
pub(super) struct UnitNames<'s> {
    pub(super) definitions: Vec<(NameKey, TypeDefinition)>,
    /// Names that stand in the entries themselves, or had to be looked up.
    pub(super) inline: Vec<&'s str>,
    /// Namespaces, modules and types around definitions, each after the one that it is in.
    pub(super) scopes: Vec<DefinitionScope>,
    /// Indices of definitions that are in a scope, in order, and of their scope.
    pub(super) scoped: Vec<(u32, u32)>,
    /// The unit is a skeleton: where its contents are.
    pub(super) split: Option<SplitUnit>,
}

/// What types may be nested in.
#[derive(Clone, Copy)]
pub(super) struct DefinitionScope {
    /// Index of the scope around it.
    pub(super) parent: Option<u32>,
    /// `None` for what has no name, such as the namespace that a file has for itself.
    pub(super) name: Option<NameKey>,
}

/// The text at an offset of a string section.
pub(super) fn section_text<'s>(
    dwarf: &Dwarf<'s>,
    section: SectionId,
    offset: usize,
) -> Option<&'s str> {
    let text = match section {
        SectionId::DebugStr => dwarf.debug_str.get_str(gimli::DebugStrOffset(offset)),
        SectionId::DebugLineStr => {
            let offset = gimli::DebugLineStrOffset(offset);
            dwarf.debug_line_str.get_str(offset)
        }
        _ => return None,
    };
    std::str::from_utf8(text.ok()?.slice()).ok()
}
