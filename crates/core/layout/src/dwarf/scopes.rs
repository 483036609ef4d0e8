//! Scopes of definitions and declarations: namespaces, modules, classes, and functions. C has only
//! functions.
use std::borrow::Cow;

use gimli::SectionId;
use rustc_hash::FxHashMap;

use super::die::DieOffset;
use super::unit_names::{NameKey, ScopeKind, UnitNames};
use crate::InlineNamespaces;
use crate::canonical::UNNAMED_SCOPE;

/// Scope in a file, which is the same for all its units. Meaningless in another file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScopeId(pub(super) u32);

/// Scopes of a file, and the scopes of its definitions and declarations.
#[derive(Default)]
pub(super) struct ScopeIndex<'s> {
    /// Scopes; parents come first.
    pub(super) scopes: Vec<ScopeEntry<'s>>,
    /// Scopes of definitions, sorted by entry.
    pub(super) scope_by_die: Vec<(DieOffset, ScopeId)>,
    /// Scopes of declarations, sorted by entry.
    pub(super) scope_by_declaration: Vec<(DieOffset, ScopeId)>,
}

/// Scope in its parent.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScopeEntry<'s> {
    pub(super) parent: Option<ScopeId>,
    pub(super) name: &'s str,
    pub(super) kind: ScopeKind,
}

/// Most scopes inside each other. More is damage.
const DEPTH_MAX: usize = 64;
/// Longest path in bytes. Only damaged debug information has longer ones.
const PATH_BYTES_MAX: usize = 16 * 1024;

impl<'s> ScopeIndex<'s> {
    /// Joins the scopes of the units, given in file order. `text` returns the name at an offset of
    /// a section.
    pub(super) fn join(
        units: &[UnitNames<'s>],
        text: impl Fn(SectionId, usize) -> Option<&'s str>,
    ) -> Self {
        let mut joined = Self::default();
        let mut known: FxHashMap<(Option<ScopeId>, &'s str), ScopeId> = FxHashMap::default();
        for unit in units {
            let mut ids: Vec<ScopeId> = Vec::with_capacity(unit.scopes.len());
            for scope in &unit.scopes {
                let parent = scope.parent.and_then(|parent| ids.get(parent as usize));
                let name = match scope.name {
                    Some(NameKey::Inline(index)) => unit.inline.get(index).copied(),
                    Some(NameKey::InSection(section, offset)) => text(section, offset),
                    None => None,
                };
                let (parent, name) = (parent.copied(), name.unwrap_or(UNNAMED_SCOPE));
                let id = *known.entry((parent, name)).or_insert_with(|| {
                    let kind = scope.kind;
                    joined.scopes.push(ScopeEntry { parent, name, kind });
                    ScopeId(joined.scopes.len() as u32 - 1)
                });
                // A namespace is opened several times, and said to be inline once.
                if scope.kind == ScopeKind::Inline {
                    joined.scopes[id.0 as usize].kind = ScopeKind::Inline;
                }
                ids.push(id);
            }
            joined
                .scope_by_die
                .extend(unit.scoped.iter().filter_map(|&(index, scope)| {
                    let (_, definition) = unit.definitions.get(index as usize)?;
                    Some((definition.die, *ids.get(scope as usize)?))
                }));
            let declared = unit.declared.iter();
            joined.scope_by_declaration.extend(
                declared.filter_map(|&(die, scope)| Some((die, *ids.get(scope as usize)?))),
            );
        }
        joined
    }

    /// Returns true if no definition is in a scope.
    pub(super) fn is_empty(&self) -> bool {
        self.scope_by_die.is_empty()
    }

    /// Scope of a definition or declaration, if it is in one.
    pub(super) fn scope_of(&self, die: DieOffset) -> Option<ScopeId> {
        [&self.scope_by_die, &self.scope_by_declaration]
            .into_iter()
            .find_map(|scopes| {
                let at = scopes.binary_search_by_key(&die, |(die, _)| *die).ok()?;
                Some(scopes[at].1)
            })
    }

    /// Scope as C++ and Rust write it: `std::__detail`. A function has brackets behind it.
    pub(super) fn path(&self, scope: ScopeId) -> String {
        let mut names = Vec::new();
        let mut at = Some(scope);
        let mut bytes = 0;
        while let Some(entry) = at.and_then(|ScopeId(id)| self.scopes.get(id as usize)) {
            names.push(entry.spelled());
            bytes += entry.name.len();
            let goes_on = names.len() < DEPTH_MAX && bytes < PATH_BYTES_MAX;
            at = entry.parent.filter(|_| goes_on);
        }
        names.reverse();
        names.join("::")
    }

    /// Path of the scope around a definition or declaration.
    pub(super) fn path_of(&self, die: DieOffset) -> Option<String> {
        self.scope_of(die).map(|scope| self.path(scope))
    }

    /// Inline namespaces of C++.
    pub(super) fn inline_namespaces(&self) -> InlineNamespaces {
        let scopes = self.scopes.iter().enumerate();
        let inline = scopes.filter(|(_, entry)| entry.kind == ScopeKind::Inline);
        InlineNamespaces::new(inline.map(|(id, _)| self.path(ScopeId(id as u32))))
    }
}

impl<'s> ScopeEntry<'s> {
    fn spelled(&self) -> Cow<'s, str> {
        match self.kind {
            // clang 14 puts types of inlined functions into functions without a name.
            ScopeKind::Function if self.name != UNNAMED_SCOPE => {
                Cow::Owned(format!("{}()", self.name))
            }
            _ => Cow::Borrowed(self.name),
        }
    }
}
