//! Lookup of the types that a pattern matches.

use relayout_layout::catalog::{CatalogEntry, TypeCatalog};
use relayout_layout::{SourceLine, Type, TypeArena, TypeId};

use crate::members;
use crate::{Error, FileFacts, GlobPattern, MemberPattern, TypePattern, TypeRules};

/// Quality of a match between definition and pattern, best last. If a struct matches, a typedef of
/// the struct repeats it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DefinitionFit {
    /// Base type, enum, or a typedef of one.
    Scalar,
    /// Typedef of a struct.
    Alias,
    /// Struct, union or class with members.
    Aggregate,
}

/// Definition that a pattern matches.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FoundDefinition {
    pub fit: DefinitionFit,
    /// Name with its scope: `net::Socket`.
    pub name: String,
    pub decl: Option<SourceLine>,
}

/// Returns the loaded definition, which has the name of `pattern`, if the rest fits. A pattern with
/// globs matches only structs, unions and classes.
fn matching_definition(
    types: &TypeArena,
    id: TypeId,
    entry: &CatalogEntry<'_>,
    pattern: &TypePattern,
    declared_in: Option<&GlobPattern>,
) -> Option<FoundDefinition> {
    let aggregate = types.aggregate(id);
    if aggregate.is_some_and(|aggregate| !aggregate.complete) || types.size_of(id).is_none() {
        return None;
    }
    let fit = match types.get(id) {
        Type::Aggregate(_) => DefinitionFit::Aggregate,
        _ if aggregate.is_some() => DefinitionFit::Alias,
        _ => DefinitionFit::Scalar,
    };
    let own = (fit == DefinitionFit::Aggregate)
        .then_some(aggregate)
        .flatten();
    let scope = own.and_then(|own| own.scope.as_deref());
    let decl = aggregate.and_then(|aggregate| aggregate.decl.clone());
    let file = decl.as_ref().map(|decl| decl.file.as_str());
    let fits = !pattern.is_about_other_than_copies(scope)
        && pattern.admits_kind(types.get(id))
        && !(pattern.is_open() && fit == DefinitionFit::Scalar)
        && declared_in.is_none_or(|glob| file.is_some_and(|file| in_file(glob, file)));
    fits.then(|| FoundDefinition {
        fit,
        name: match scope {
            Some(scope) => format!("{scope}::{}", entry.name),
            None => entry.name.to_owned(),
        },
        decl,
    })
}

fn in_file(glob: &GlobPattern, file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    glob.matches(file) || glob.matches(name)
}

/// Calls `visit` with each definition in the file that matches, in parallel, and returns what it
/// gave in the order of the definitions.
///
/// # Errors
/// Returns an error if the debug information contradicts itself.
pub(crate) fn map_definitions<T: Send>(
    catalog: &TypeCatalog<'_>,
    file: &str,
    pattern: &TypePattern,
    declared_in: Option<&GlobPattern>,
    visit: impl Fn(&TypeArena, TypeId, FoundDefinition) -> T + Sync,
) -> Result<Vec<T>, Error> {
    let entries = catalog.find_matching(pattern);
    let visited = catalog.map_loaded(&entries, |types, id, entry| {
        let found = matching_definition(types, id, entry, pattern, declared_in)?;
        Some(visit(types, id, found))
    });
    let visited = visited.map_err(|source| Error::Layout {
        file: file.to_owned(),
        source,
    })?;
    Ok(visited.into_iter().flatten().collect())
}

/// Returns true if the file defines a type that the rules match.
///
/// # Errors
/// Returns an error if the debug information contradicts itself.
pub fn defines_type(
    catalog: &TypeCatalog<'_>,
    facts: &FileFacts,
    rules: &TypeRules,
) -> Result<bool, Error> {
    let declared_in = rules.declared_in.as_ref();
    let found = map_definitions(catalog, &facts.path, &rules.name, declared_in, |_, _, _| ())?;
    Ok(!found.is_empty())
}

/// Returns true if the type exists, or if one of its definitions has the member.
pub(crate) fn has_definition(
    catalog: &TypeCatalog<'_>,
    file: &str,
    pattern: &TypePattern,
    member: Option<&MemberPattern>,
) -> Result<bool, Error> {
    let has = |types: &TypeArena, id: TypeId, _| {
        member.is_none_or(|member| {
            members::find_members(types, id, member).is_ok_and(|found| !found.is_empty())
        })
    };
    Ok(map_definitions(catalog, file, pattern, None, has)?.contains(&true))
}
