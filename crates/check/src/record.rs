//! Takes down where members are: a baseline of another build, or a record for the lock file.

use relayout_layout::catalog::{Catalog, Entry};
use relayout_layout::{TypeId, Types};

use crate::known::KnownType;
use crate::{Config, Error, Facts, TypeRules, applied, members, select};

/// Where the members of all types are that rules name which apply to the file.
///
/// # Errors
/// Nothing can be said of the file; see [`Error`].
pub fn baseline(
    config: &Config,
    facts: &Facts,
    catalog: &Catalog<'_>,
) -> Result<Vec<KnownType>, Error> {
    let applied = applied(config, &[], facts, catalog)?;
    let mut known: Vec<KnownType> = Vec::new();
    for (section, _) in &applied.sections {
        for rules in &section.types {
            for one in of_rules(rules, facts, catalog)? {
                match known.iter_mut().find(|other| other.name == one.name) {
                    // Both have all members of the type; what is inside may differ.
                    Some(other) => {
                        let new = one.members.into_iter();
                        let new = new.filter(|member| other.member(&member.path).is_none());
                        let new: Vec<_> = new.collect();
                        other.members.extend(new);
                    }
                    None => known.push(one),
                }
            }
        }
    }
    Ok(known)
}

fn of_rules(
    rules: &TypeRules,
    facts: &Facts,
    catalog: &Catalog<'_>,
) -> Result<Vec<KnownType>, Error> {
    let look = |types: &Types, id: TypeId, entry: &Entry<'_>| {
        let declared_in = rules.declared_in.as_ref();
        let found = select::fits(types, id, entry, &rules.name, declared_in)?;
        let mut paths = Vec::new();
        for pattern in rules.assertions.iter().flat_map(|one| one.rule.members()) {
            let places = members::find(types, id, pattern).unwrap_or_default();
            paths.extend(places.into_iter().map(|place| place.path));
        }
        Some(KnownType::of(types, id, &found.name, &paths))
    };
    let entries = select::entries(catalog, &rules.name);
    let known = catalog.each(&entries, look);
    let known = known.map_err(|source| Error::Layout {
        file: facts.path.clone(),
        source,
    })?;
    Ok(known.into_iter().flatten().collect())
}
