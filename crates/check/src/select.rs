//! Finds the types that a pattern means.

use relayout_layout::catalog::{Catalog, Entry};
use relayout_layout::{Aggregate, SourceLine, Type, TypeId, Types};

use crate::members;
use crate::{Error, Facts, Glob, MemberPattern, TypePattern, TypeRules};

/// How well a definition fits a name, best last: where a struct has it, a typedef of it is the same
/// thing again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fit {
    /// A base type, an enum, a typedef of one.
    Scalar,
    /// A typedef of a struct.
    Alias,
    /// A struct, union or class with members.
    Aggregate,
}

/// A definition that a pattern means.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found {
    pub fit: Fit,
    /// With the scope: `net::Socket`.
    pub name: String,
    pub decl: Option<SourceLine>,
}

/// The definitions that may be meant, by their bare names; [`fits`] tells more once they are loaded.
pub(crate) fn entries<'c>(catalog: &'c Catalog<'_>, pattern: &'c TypePattern) -> Vec<Entry<'c>> {
    let name = pattern.name();
    if !name.is_open() {
        return catalog.find(name.as_str());
    }
    // To find names one by one would pass over all of a BTF's types for each.
    let all = catalog.aggregates().into_iter();
    all.filter(|entry| name.matches(entry.name)).collect()
}

/// What the loaded definition is, if `pattern` means it. An open pattern means structs, unions and
/// classes only.
pub(crate) fn fits(
    types: &Types,
    id: TypeId,
    entry: &Entry<'_>,
    pattern: &TypePattern,
    declared_in: Option<&Glob>,
) -> Option<Found> {
    let aggregate = types.aggregate(id);
    if aggregate.is_some_and(|aggregate| !aggregate.complete) || types.size_of(id).is_none() {
        return None;
    }
    let fit = match types.get(id) {
        Type::Aggregate(_) => Fit::Aggregate,
        _ if aggregate.is_some() => Fit::Alias,
        _ => Fit::Scalar,
    };
    let own = (fit == Fit::Aggregate).then_some(aggregate).flatten();
    let scope = own.and_then(|own| own.scope.as_deref());
    let decl = aggregate.and_then(|aggregate| aggregate.decl.clone());
    let file = decl.as_ref().map(|decl| decl.file.as_str());
    let fits = pattern.matches(scope, entry.name)
        && has_keyword(types, id, own, pattern.keyword())
        && !(pattern.is_open() && fit == Fit::Scalar)
        && declared_in.is_none_or(|glob| file.is_some_and(|file| in_file(glob, file)));
    fits.then(|| Found {
        fit,
        name: match scope {
            Some(scope) => format!("{scope}::{}", entry.name),
            None => entry.name.to_owned(),
        },
        decl,
    })
}

fn has_keyword(
    types: &Types,
    id: TypeId,
    own: Option<&Aggregate>,
    keyword: Option<&'static str>,
) -> bool {
    keyword.is_none_or(|keyword| match own {
        Some(own) => own.kind.to_string() == keyword,
        None => keyword == "enum" && matches!(types.get(id), Type::Enum { .. }),
    })
}

fn in_file(glob: &Glob, file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    glob.matches(file) || glob.matches(name)
}

/// Whether the file defines a type that the rules mean.
///
/// # Errors
/// The debug information contradicts itself.
pub fn defines(catalog: &Catalog<'_>, facts: &Facts, rules: &TypeRules) -> Result<bool, Error> {
    let declared_in = rules.declared_in.as_ref();
    let entries = entries(catalog, &rules.name);
    let fits = |types: &Types, id: TypeId, entry: &Entry<'_>| {
        fits(types, id, entry, &rules.name, declared_in).is_some()
    };
    let found = catalog.each(&entries, fits);
    let found = found.map_err(|source| Error::Layout {
        file: facts.path.clone(),
        source,
    })?;
    Ok(found.contains(&true))
}

/// Whether there is such a type, or such a member of one of its definitions.
pub(crate) fn is_there(
    catalog: &Catalog<'_>,
    file: &str,
    pattern: &TypePattern,
    member: Option<&MemberPattern>,
) -> Result<bool, Error> {
    let has = |types: &Types, id: TypeId, entry: &Entry<'_>| {
        fits(types, id, entry, pattern, None).is_some()
            && member.is_none_or(|member| {
                members::find(types, id, member).is_ok_and(|found| !found.is_empty())
            })
    };
    let found = catalog.each(&entries(catalog, pattern), has);
    let found = found.map_err(|source| Error::Layout {
        file: file.to_owned(),
        source,
    })?;
    Ok(found.contains(&true))
}
