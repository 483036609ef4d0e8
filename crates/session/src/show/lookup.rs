//! Definitions of the named types.

use std::collections::HashSet;
use std::path::Path;

use relayout_check::TypePattern;
use relayout_layout::catalog::{CatalogEntry, TypeCatalog};
use relayout_layout::{Type, TypeArena, TypeId, suggestions};

use super::{ShowError, ShownType, TypeSelection};

/// Text of a type by which definitions are compared.
type SameText<'f> = &'f dyn Fn(&TypeArena, &ShownType<'_>) -> String;

/// Returns the named types, or all structs, unions and classes without a name.
pub(super) fn selected_entries<'c>(
    file: &Path,
    catalog: &'c TypeCatalog<'_>,
    selection: &'c TypeSelection,
    notify: &dyn Fn(&str),
    same_text: SameText<'_>,
) -> Result<Vec<CatalogEntry<'c>>, ShowError> {
    if selection.names.is_empty() {
        let mut entries = catalog.aggregates();
        entries.retain(|entry| selection.limits.admits_name(entry.name));
        return Ok(entries);
    }
    let mut entries = Vec::new();
    for name in &selection.names {
        let name = array_element(name);
        let pattern = TypePattern::parse(name).map_err(ShowError::Pattern)?;
        let found = if pattern.is_open() {
            matching_entries(catalog, &pattern)?
        } else {
            named_definitions(catalog, name, &pattern, same_text)?.take(selection.all, notify)
        };
        if found.is_empty() {
            return Err(unknown_type(file, catalog, name, &pattern));
        }
        entries.extend(found);
    }
    let mut seen = HashSet::new();
    entries.retain(|entry| seen.insert(*entry));
    Ok(entries)
}

/// Returns the type of the elements of an array, as reports name arrays: `Slot [4]`, `net::Job * [64][2]`. Other
/// names are returned as they are.
fn array_element(name: &str) -> &str {
    let Some((element, count)) = name.trim_end().rsplit_once(" [") else {
        return name;
    };
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let are_numbers = |text: &str| text.split("][").all(is_number);
    match count.strip_suffix(']').is_some_and(are_numbers) {
        true => element.trim_end_matches([' ', '*']),
        false => name,
    }
}

fn unknown_type(
    file: &Path,
    catalog: &TypeCatalog<'_>,
    name: &str,
    pattern: &TypePattern,
) -> ShowError {
    let plain = pattern.name().as_str().replace(['*', '?'], "");
    let similar = suggestions::similar_names(catalog.type_names(), &plain);
    ShowError::UnknownType {
        file: file.to_owned(),
        name: match name.contains(['*', '?']) {
            true => format!("that matches `{name}`"),
            false => format!("named `{name}`"),
        },
        suggestion: match similar.is_empty() {
            true => "; without a TYPE, all are shown".to_owned(),
            false => suggestions::suggestion_suffix(&similar),
        },
    }
}

/// Returns the structs, unions and classes that an open pattern matches.
fn matching_entries<'c>(
    catalog: &'c TypeCatalog<'_>,
    pattern: &TypePattern,
) -> Result<Vec<CatalogEntry<'c>>, ShowError> {
    let mut entries = catalog.aggregates();
    entries.retain(|entry| pattern.may_match(entry.name));
    let is_by_name = pattern.keyword().is_none() && pattern.components().len() == 1;
    if is_by_name && entries.iter().all(|entry| pattern.matches_name(entry.name)) {
        return Ok(entries);
    }
    let fits = catalog.map_loaded(&entries, |types, id, entry| {
        is_meant(types, id, entry.name, pattern)
    })?;
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

/// Types that a pattern means, of those that may be meant by their names.
struct MeantTypes<'c> {
    types: TypeArena,
    found: Vec<(TypeId, CatalogEntry<'c>)>,
}

impl<'c> MeantTypes<'c> {
    fn load(
        catalog: &'c TypeCatalog<'_>,
        entries: Vec<CatalogEntry<'c>>,
        pattern: &TypePattern,
    ) -> Result<Self, ShowError> {
        let loaded = catalog.load(&entries)?;
        let types = loaded.types;
        let mut found: Vec<(TypeId, CatalogEntry<'c>)> =
            loaded.ids.iter().copied().zip(entries).collect();
        found.retain(|(id, entry)| is_meant(&types, *id, entry.name, pattern));
        Ok(Self { types, found })
    }
}

fn named_definitions<'c>(
    catalog: &'c TypeCatalog<'_>,
    name: &'c str,
    pattern: &TypePattern,
    same_text: SameText<'_>,
) -> Result<NamedDefinitions<'c>, ShowError> {
    let bare = name.len() - pattern.name().as_str().len();
    let bare = name.get(bare..).unwrap_or(name).trim();
    let mut meant = MeantTypes::load(catalog, catalog.find_definitions(bare), pattern)?;
    if meant.found.is_empty() {
        meant = MeantTypes::load(catalog, respelled_definitions(catalog, pattern), pattern)?;
    }
    let MeantTypes { types, mut found } = meant;
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
    let ids: Vec<TypeId> = found.iter().map(|(id, _)| *id).collect();
    Ok(NamedDefinitions {
        ambiguity: (ids.len() > 1).then(|| ambiguity(types, bare, &ids)),
        entries: found.into_iter().map(|(_, entry)| entry).collect(),
    })
}

/// Returns the definitions whose names are the pattern's in another spelling, in any scope.
fn respelled_definitions<'c>(
    catalog: &'c TypeCatalog<'_>,
    pattern: &TypePattern,
) -> Vec<CatalogEntry<'c>> {
    let names = catalog.type_names().into_iter();
    names
        .filter(|name| pattern.may_match(name))
        .flat_map(|name| catalog.find_definitions(name))
        .collect()
}

fn is_meant(types: &TypeArena, id: TypeId, name: &str, pattern: &TypePattern) -> bool {
    let (keyword, scope) = match types.get(id) {
        Type::Aggregate(aggregate) => {
            let keyword = Some(aggregate.kind.keyword());
            (keyword, aggregate.scope.as_deref())
        }
        Type::Enum { .. } => (Some("enum"), None),
        _ => (None, None),
    };
    pattern
        .keyword()
        .is_none_or(|wanted| keyword == Some(wanted))
        && pattern.matches(scope, name)
}

fn ambiguity(types: &TypeArena, name: &str, ids: &[TypeId]) -> String {
    let places: Vec<String> = ids
        .iter()
        .filter_map(|id| types.aggregate(*id)?.decl.as_ref())
        .map(|decl| format!("{}:{}", decl.file, decl.line))
        .collect();
    let places = if places.is_empty() {
        String::new()
    } else {
        format!(" ({})", places.join(", "))
    };
    let count = ids.len();
    format!(
        "{count} different types are named `{name}`{places}; this is the first, --all shows each"
    )
}
