//! Type names and definitions of one unit, before the units are joined.
use gimli::SectionId;

use super::companions::SplitUnit;
use super::die::{DieOffset, Dwarf};
use super::language::UnitLanguage;
use crate::DefinitionKind;

/// Type definition in the index, without its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeDefinition {
    /// Entry of the definition.
    pub die: DieOffset,
    /// `sizeof` in bytes; `u32::MAX` if the entry does not tell or the size does not fit.
    pub size: u32,
    /// Lower half of the line of its declaration; 0 if the entry does not tell.
    pub line: u16,
    /// Kind of the type.
    pub kind: DefinitionKind,
}

/// Position of a name. Positions are compared instead of texts, because linkers keep each string
/// once. Names outside of the file itself (in a `.dwo`) are read at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum NameKey {
    /// Offset in this section.
    InSection(SectionId, usize),
    /// Index in [`UnitNames::inline`].
    Inline(usize),
}

/// Definitions of one unit in file order.
#[derive(Default)]
pub(super) struct UnitNames<'s> {
    pub(super) definitions: Vec<(NameKey, TypeDefinition)>,
    /// Names in the entries themselves, or outside of the file.
    pub(super) inline: Vec<&'s str>,
    /// Namespaces, modules, types and functions around definitions; each follows the one around it.
    pub(super) scopes: Vec<DefinitionScope>,
    /// Indices of definitions in a scope and of their scope, in order.
    pub(super) scoped: Vec<(u32, u32)>,
    /// Declarations in scopes, in order, with the indices of their scopes.
    pub(super) declared: Vec<(DieOffset, u32)>,
    /// Instances of templates of C++, in order.
    pub(super) templates: Vec<TemplateInstance>,
    /// Language, if the unit is a compilation unit that tells.
    pub(super) language: Option<UnitLanguage>,
    /// True if the unit says that it is of C++.
    pub(super) states_cxx: bool,
    /// File with the contents of the unit, if the unit is a skeleton.
    pub(super) split: Option<SplitUnit>,
}

/// Instance of a template of C++. Its name may lack the arguments (`-gsimple-template-names`).
#[derive(Clone, Copy)]
pub(super) struct TemplateInstance {
    pub(super) die: DieOffset,
    /// Index of the scope that it is.
    pub(super) scope: u32,
    /// Index of its definition, if it is one.
    pub(super) definition: Option<u32>,
}

/// Kind of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum ScopeKind {
    /// Namespace, module or type.
    Named,
    /// Inline namespace of C++.
    Inline,
    /// Function.
    Function,
}

impl UnitNames<'_> {
    /// Index of the scope of a definition or declaration.
    pub(super) fn scope_of(&self, die: DieOffset) -> Option<u32> {
        let declared = self.declared.binary_search_by_key(&die, |(die, _)| *die);
        if let Ok(at) = declared {
            return Some(self.declared[at].1);
        }
        let definitions = &self.definitions;
        let at = definitions.binary_search_by_key(&die, |(_, definition)| definition.die);
        let index = at.ok()? as u32;
        let scoped = { &self.scoped }.binary_search_by_key(&index, |(index, _)| *index);
        Some(self.scoped[scoped.ok()?].1)
    }
}

impl ScopeKind {
    /// Kind with this number in a kept index.
    pub(super) fn from_number(number: u8) -> Self {
        match number {
            1 => Self::Inline,
            2 => Self::Function,
            _ => Self::Named,
        }
    }
}

/// Namespace, module, type or function around definitions.
#[derive(Clone, Copy)]
pub(super) struct DefinitionScope {
    pub(super) kind: ScopeKind,
    /// Index of the scope around it.
    pub(super) parent: Option<u32>,
    /// Name; `None` for scopes without name, such as the unnamed namespace of a file.
    pub(super) name: Option<NameKey>,
}

/// Text at an offset of a string section.
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
