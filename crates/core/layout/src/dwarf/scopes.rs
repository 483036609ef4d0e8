//! Scopes of definitions and declarations: namespaces, modules, classes. C has none.
use gimli::SectionId;
use rustc_hash::FxHashMap;

use super::die::DieOffset;
use super::unit_names::{NameKey, UnitNames};

/// Scope in a file, which is the same for all its units. Meaningless in another file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScopeId(pub(super) u32);

/// Scopes of a file, and the scopes of its definitions and declarations.
#[derive(Default)]
pub(super) struct ScopeIndex<'s> {
    /// Parent and name of each scope; parents come first.
    pub(super) scopes: Vec<(Option<ScopeId>, &'s str)>,
    /// Scopes of definitions, sorted by entry.
    pub(super) scope_by_die: Vec<(DieOffset, ScopeId)>,
    /// Scopes of declarations, sorted by entry.
    pub(super) scope_by_declaration: Vec<(DieOffset, ScopeId)>,
}

/// Most scopes inside each other. More is damage.
const DEPTH_MAX: usize = 64;
/// Name in messages of the unnamed namespace that each file has.
const UNNAMED: &str = "(anonymous)";

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
                let key = (parent.copied(), name.unwrap_or(UNNAMED));
                ids.push(*known.entry(key).or_insert_with(|| {
                    joined.scopes.push(key);
                    ScopeId(joined.scopes.len() as u32 - 1)
                }));
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

    /// Scope as C++ and Rust write it: `std::__detail`.
    pub(super) fn path(&self, scope: ScopeId) -> String {
        let mut names = Vec::new();
        let mut at = Some(scope);
        while let Some((parent, name)) = at.and_then(|ScopeId(id)| self.scopes.get(id as usize)) {
            names.push(*name);
            at = parent.filter(|_| names.len() < DEPTH_MAX);
        }
        names.reverse();
        names.join("::")
    }
}
