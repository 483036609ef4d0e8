//! From the names on the command line to definitions.

use std::path::PathBuf;

use relayout_check::TypePattern;
use relayout_layout::catalog::{CatalogEntry, TypeCatalog};
use relayout_layout::{Type, TypeArena, TypeId, suggestions};
use relayout_pahole_text::Options;

use super::{Args, ShownType, text};

/// A name that nothing has.
#[derive(Debug, thiserror::Error)]
#[error("{} has no type {}{}", file.display(), named(name), sentence(suggestions))]
pub struct UnknownShownType {
    file: PathBuf,
    name: String,
    suggestions: Vec<String>,
}

fn named(name: &str) -> String {
    match name.contains(['*', '?']) {
        true => format!("that matches `{name}`"),
        false => format!("named `{name}`"),
    }
}

/// `; close: a, b`, or what else to try.
fn sentence(similar: &[String]) -> String {
    if similar.is_empty() {
        "; without a TYPE, all are shown".to_owned()
    } else {
        suggestions::suggestion_suffix(similar)
    }
}

/// The types to look at: those that are named, or without a name all structs and unions.
///
/// # Errors
/// A name that is none or that nothing has, malformed debug information.
pub(super) fn selected_entries<'c>(
    args: &'c Args,
    catalog: &'c TypeCatalog<'_>,
) -> anyhow::Result<Vec<CatalogEntry<'c>>> {
    let names: Vec<&String> = args.types.iter().chain(&args.class_names).collect();
    if names.is_empty() {
        return Ok(catalog.aggregates());
    }
    let mut entries = Vec::new();
    for name in names {
        let pattern = TypePattern::parse(name).map_err(anyhow::Error::msg)?;
        let found = match pattern.is_open() {
            true => matching_entries(catalog, &pattern)?,
            false => named_entries(args, catalog, name, &pattern)?,
        };
        if found.is_empty() {
            let asked = pattern.name().as_str().replace(['*', '?'], "");
            let suggestions = suggestions::similar_names(catalog.type_names(), &asked);
            let (file, name) = (args.file.clone(), name.clone());
            return Err(UnknownShownType {
                file,
                name,
                suggestions,
            }
            .into());
        }
        entries.extend(found);
    }
    let mut seen = std::collections::HashSet::new();
    entries.retain(|entry| seen.insert(*entry));
    Ok(entries)
}

/// All structs and unions that an open pattern means.
fn matching_entries<'c>(
    catalog: &'c TypeCatalog<'_>,
    pattern: &TypePattern,
) -> anyhow::Result<Vec<CatalogEntry<'c>>> {
    let mut entries = catalog.aggregates();
    entries.retain(|entry| pattern.name().matches(entry.name));
    if pattern.keyword().is_none() && pattern.components().len() == 1 {
        return Ok(entries);
    }
    let fits = catalog.map_loaded(&entries, |types, id, entry| {
        is_meant(types, id, entry.name, pattern)
    })?;
    let kept = entries.into_iter().zip(fits).filter(|(_, fits)| *fits);
    Ok(kept.map(|(entry, _)| entry).collect())
}

/// The definitions of one name: with `--all` the different ones, else the first.
fn named_entries<'c>(
    args: &Args,
    catalog: &'c TypeCatalog<'_>,
    name: &'c str,
    pattern: &TypePattern,
) -> anyhow::Result<Vec<CatalogEntry<'c>>> {
    let bare = name.len() - pattern.name().as_str().len();
    let bare = name.get(bare..).unwrap_or(name).trim();
    let entries = catalog.find_definitions(bare);
    let loaded = catalog.load(&entries)?;
    let types = &loaded.types;
    let mut found: Vec<(TypeId, CatalogEntry<'c>)> =
        loaded.ids.iter().copied().zip(entries).collect();
    found.retain(|(id, entry)| is_meant(types, *id, entry.name, pattern));
    // A struct and a typedef of it share their name more often than not: the struct is meant.
    let tagged = |(id, _): &(TypeId, _)| matches!(types.get(*id), Type::Aggregate(_));
    if found.iter().any(tagged) {
        found.retain(tagged);
    }
    let mut found = different_definitions(types, found);
    if found.len() > 1 && !args.all {
        let ids: Vec<TypeId> = found.iter().map(|(id, _)| *id).collect();
        eprintln!("{}", ambiguity(types, bare, &ids));
        found.truncate(1);
    }
    Ok(found.into_iter().map(|(_, entry)| entry).collect())
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

/// Drops what prints as an earlier one does.
fn different_definitions<'c>(
    types: &TypeArena,
    found: Vec<(TypeId, CatalogEntry<'c>)>,
) -> Vec<(TypeId, CatalogEntry<'c>)> {
    let mut seen: Vec<String> = Vec::new();
    let mut kept = Vec::new();
    for (id, entry) in found {
        let text = text::layout(types, &ShownType { id, name: "" }, &Options::default());
        if !seen.contains(&text) {
            seen.push(text);
            kept.push((id, entry));
        }
    }
    kept
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
        "relayout: {count} different types are named `{name}`{places}; this is the first, --all shows each"
    )
}
