//! Definitions of the named types.

use std::collections::HashSet;
use std::path::Path;

use relayout_layout::catalog::{CatalogEntry, LoadedTypes, TypeCatalog};
use relayout_layout::{Type, TypeArena, TypeId, TypePattern};
use relayout_messages::UserError;

use super::{ShownType, TypeSelection};

/// Most types of one name that a sentence describes.
const DESCRIBED_MAX: usize = 12;

/// Text of a type by which definitions are compared.
type SameText<'f> = &'f dyn Fn(&TypeArena, &ShownType<'_>) -> String;

/// Returns the named types, or all structs, unions and classes without a name.
pub(super) fn selected_entries<'c>(
    file: &Path,
    catalog: &'c TypeCatalog<'_>,
    selection: &'c TypeSelection,
    notify: &dyn Fn(&str),
    same_text: SameText<'_>,
) -> Result<Vec<CatalogEntry<'c>>, UserError> {
    if selection.names.is_empty() {
        let mut entries = catalog.aggregates();
        entries.retain(|entry| selection.limits.admits_name(entry.name));
        return Ok(entries);
    }
    let mut entries = Vec::new();
    for name in &selection.names {
        let pattern = TypePattern::parse(name).map_err(UserError::input)?;
        let found = if pattern.is_open() {
            matching_entries(catalog, &pattern)?
        } else {
            named_definitions(catalog, &pattern, same_text)?.take(selection.all, notify)
        };
        if found.is_empty() {
            return Err(unknown_type(file, catalog, &pattern));
        }
        entries.extend(found);
    }
    let mut seen = HashSet::new();
    entries.retain(|entry| seen.insert(*entry));
    Ok(entries)
}

fn unknown_type(file: &Path, catalog: &TypeCatalog<'_>, pattern: &TypePattern) -> UserError {
    let similar = pattern.similar_definitions(catalog.type_names());
    let described = match pattern.is_open() {
        true => format!("that matches `{pattern}`"),
        false => format!("named `{pattern}`"),
    };
    let message = format!("{} has no type {described}", file.display());
    match similar.is_empty() {
        true => UserError::input(message).with_remedy("without a TYPE, all are shown"),
        false => UserError::unknown_name(message, &similar, None),
    }
}

/// Returns the structs, unions and classes that an open pattern matches.
fn matching_entries<'c>(
    catalog: &'c TypeCatalog<'_>,
    pattern: &TypePattern,
) -> Result<Vec<CatalogEntry<'c>>, UserError> {
    let entries = catalog.find_matching(pattern);
    if pattern.keyword().is_none() {
        return Ok(entries);
    }
    let fits = catalog.map_loaded(&entries, |types, id, _| pattern.admits_kind(types.get(id)))?;
    Ok(entries
        .into_iter()
        .zip(fits)
        .filter(|(_, fits)| *fits)
        .map(|(entry, _)| entry)
        .collect())
}

/// Different definitions of one name.
struct NamedDefinitions<'c> {
    entries: Vec<CatalogEntry<'c>>,
    /// Sentence about several definitions.
    ambiguity: Option<String>,
}

impl<'c> NamedDefinitions<'c> {
    /// Returns all definitions, or the first with a notice about the others.
    fn take(mut self, all: bool, notify: &dyn Fn(&str)) -> Vec<CatalogEntry<'c>> {
        if let Some(ambiguity) = self.ambiguity
            && !all
        {
            notify(&ambiguity);
            self.entries.truncate(1);
        }
        self.entries
    }
}

fn named_definitions<'c>(
    catalog: &'c TypeCatalog<'_>,
    pattern: &TypePattern,
    same_text: SameText<'_>,
) -> Result<NamedDefinitions<'c>, UserError> {
    let entries = catalog.find_matching(pattern);
    let LoadedTypes { types, ids } = catalog.load(&entries)?;
    let mut found: Vec<(TypeId, CatalogEntry<'c>)> = ids.into_iter().zip(entries).collect();
    found.retain(|(id, _)| pattern.admits_kind(types.get(*id)));
    let types = &types;
    // A struct often shares its name with a typedef of it: the struct is meant.
    let is_tagged = |(id, _): &(TypeId, _)| matches!(types.get(*id), Type::Aggregate(_));
    if found.iter().any(is_tagged) {
        found.retain(is_tagged);
    }
    let mut seen: Vec<String> = Vec::new();
    found.retain(|(id, _)| {
        let text = same_text(
            types,
            &ShownType {
                id: *id,
                name: "",
                entry: None,
            },
        );
        let is_new = !seen.contains(&text);
        seen.push(text);
        is_new
    });
    Ok(NamedDefinitions {
        ambiguity: (found.len() > 1).then(|| ambiguity(catalog, types, pattern, &found)),
        entries: found.into_iter().map(|(_, entry)| entry).collect(),
    })
}

/// Sentence about several types that `pattern` means, with their scopes where any is in one.
fn ambiguity(
    catalog: &TypeCatalog<'_>,
    types: &TypeArena,
    pattern: &TypePattern,
    found: &[(TypeId, CatalogEntry<'_>)],
) -> String {
    let scopes: Vec<Option<String>> = found
        .iter()
        .map(|(_, entry)| catalog.scope_of(entry))
        .collect();
    let is_scoped = scopes.iter().any(Option::is_some);
    let described: Vec<String> = { found.iter().zip(scopes) }
        .filter_map(|((id, entry), scope)| {
            let declared = types
                .aggregate(*id)
                .and_then(|aggregate| aggregate.decl.as_ref());
            let place = declared.map(|decl| format!("{}:{}", decl.file, decl.line));
            let own = entry.name;
            let name = scope.map_or(own.to_owned(), |scope| format!("{scope}::{own}"));
            match (is_scoped, place) {
                (false, place) => place,
                (true, Some(place)) => Some(format!("{name} at {place}")),
                (true, None) => Some(name),
            }
        })
        .take(DESCRIBED_MAX)
        .collect();
    let count = found.len();
    let more = match count > DESCRIBED_MAX {
        true => ", ...",
        false => "",
    };
    let list = match described.is_empty() {
        true => String::new(),
        false => format!(" ({}{more})", described.join(", ")),
    };
    let name = pattern.bare_name();
    format!("{count} different types are named `{name}`{list}; this is the first, --all shows each")
}
