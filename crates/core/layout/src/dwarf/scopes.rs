//! What definitions are nested in: namespaces, modules, classes. C has none of it.
use gimli::SectionId;
use rustc_hash::FxHashMap;

use super::die::DieOffset;
use super::unit_names::{NameKey, UnitNames};

/// A scope of the whole file; the same for all units that have it. Not of another file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScopeId(u32);

/// Scopes, and which definitions are in one.
#[derive(Default)]
pub(super) struct ScopeIndex<'s> {
    /// Each scope's parent and name; parents come first.
    scopes: Vec<(Option<ScopeId>, &'s str)>,
    /// Sorted.
    scope_by_die: Vec<(DieOffset, ScopeId)>,
}

/// Scopes around one another; more than this is damage.
const DEPTH_MAX: usize = 64;
/// What the namespace that each file has for itself is called in messages.
const UNNAMED: &str = "(anonymous)";

impl<'s> ScopeIndex<'s> {
    /// Joins the units' scopes, given in file order. `text` looks up a name.
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
        }
        joined
    }

    /// Whether no definition is in any.
    pub(super) fn is_empty(&self) -> bool {
        self.scope_by_die.is_empty()
    }

    /// The scope of a definition, if it is in one.
    pub(super) fn scope_of(&self, die: DieOffset) -> Option<ScopeId> {
        let at = self
            .scope_by_die
            .binary_search_by_key(&die, |(die, _)| *die)
            .ok()?;
        Some(self.scope_by_die[at].1)
    }

    /// As it is written: `std::__detail`.
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
