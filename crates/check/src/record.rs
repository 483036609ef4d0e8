//! Takes down where members are: a baseline of another build, or a record for the lock file.

use std::collections::BTreeMap;

use relayout_layout::catalog::{Catalog, Entry};
use relayout_layout::{TypeId, Types};

use crate::hot::HotType;
use crate::known::KnownType;
use crate::members::Place;
use crate::select::Fit;
use crate::{
    Config, Error, Facts, HotMember, MemberPattern, ProfileFacts, Record, RecordedType, Section,
    TypePattern, TypeRules, applied, members, select,
};

/// Where the members of all types are that rules name, whichever files they apply to.
///
/// # Errors
/// The debug information contradicts itself.
pub fn baseline(
    config: &Config,
    facts: &Facts,
    catalog: &Catalog<'_>,
) -> Result<Vec<KnownType>, Error> {
    ruled_types(config.sections.iter(), facts, catalog, |_| true)
}

fn ruled_types<'c>(
    sections: impl Iterator<Item = &'c Section>,
    facts: &Facts,
    catalog: &Catalog<'_>,
    wanted: impl Fn(&TypeRules) -> bool,
) -> Result<Vec<KnownType>, Error> {
    let mut known: Vec<KnownType> = Vec::new();
    let rules = sections.flat_map(|section| &section.types);
    for rules in rules.filter(|rules| wanted(rules)) {
        for one in of_rules(rules, facts, catalog)? {
            match known.iter_mut().find(|other| other.name == one.name) {
                // Both have all members of the type; what is inside may differ.
                Some(other) => other.add(one.members),
                None => known.push(one),
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

/// Which members are hot, and in which build their offsets count.
#[derive(Clone, Copy, Debug)]
pub struct Recent<'a> {
    /// What the profile shows to be hot.
    pub types: &'a [HotType],
    /// The profile.
    pub profile: &'a ProfileFacts,
}

/// A record, and what could not be taken into it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// The record.
    pub record: Record,
    /// Hot types and members that the file does not have, by their names.
    pub left_out: Vec<String>,
}

/// Takes down where the hot members of a file are, and all members of the types that rules name.
/// Without a `recent` profile the members stay hot that are so in `old`.
///
/// # Errors
/// Nothing can be said of the file; see [`Error`].
pub fn record(
    config: &Config,
    named: &[String],
    facts: &Facts,
    catalog: &Catalog<'_>,
    recent: Option<Recent<'_>>,
    old: impl FnOnce(&[String]) -> Option<Record>,
) -> Result<Taken, Error> {
    let applied = applied(config, named, facts, catalog)?;
    let configurations: Vec<String> = applied
        .configurations
        .iter()
        .map(|one| one.name.clone())
        .collect();
    let (hot, profile) = match recent {
        Some(recent) => (recent.types.to_vec(), Some(recent.profile.clone())),
        None => was_hot(old(&configurations)),
    };
    let line_bytes = applied.sections.first().map_or(64, |(_, bytes)| *bytes);
    let same_build = profile
        .as_ref()
        .is_some_and(|profile| facts.build_id.as_ref() == Some(&profile.build_id));
    let mut taken = Taken {
        record: Record {
            configurations,
            machine: facts.machine,
            pointer_bytes: facts.pointer_bytes,
            build_id: facts.build_id.clone(),
            file: facts.file_name().to_owned(),
            profile,
            types: Vec::new(),
        },
        left_out: Vec::new(),
    };
    let mut types: BTreeMap<String, RecordedType> = BTreeMap::new();
    for one in &hot {
        let found = hot_type(one, facts, catalog, line_bytes, same_build)?;
        taken.left_out.extend(left_out(one, found.as_ref()));
        types.extend(found.map(|found| (found.layout.name.clone(), found)));
    }
    let closed = |rules: &TypeRules| !rules.name.is_open();
    let sections = applied.sections.iter().map(|(section, _)| *section);
    for layout in ruled_types(sections, facts, catalog, closed)? {
        let fresh = || RecordedType {
            line_bytes,
            layout: KnownType {
                members: Vec::new(),
                ..layout.clone()
            },
            ..RecordedType::default()
        };
        let known = types.entry(layout.name.clone()).or_insert_with(fresh);
        known.layout.add(layout.members);
    }
    taken.record.types = types.into_values().collect();
    Ok(taken)
}

/// The names of what is hot of a type and was not found.
fn left_out(hot: &HotType, found: Option<&RecordedType>) -> Vec<String> {
    let Some(found) = found else {
        return vec![hot.name.clone()];
    };
    let has = |member: &HotMember| {
        let same =
            |other: &HotMember| without_indices(&other.path) == without_indices(&member.path);
        found.hot.iter().any(same)
    };
    let missing = hot.members.iter().filter(|member| !has(member));
    missing
        .map(|member| format!("{}.{}", hot.name, member.path))
        .collect()
}

fn was_hot(old: Option<Record>) -> (Vec<HotType>, Option<ProfileFacts>) {
    let Some(old) = old else {
        return (Vec::new(), None);
    };
    let hot = old.types.into_iter().filter(|one| !one.hot.is_empty());
    let hot = hot.map(|one| HotType {
        name: one.layout.name,
        phase: one.phase,
        members: one.hot,
    });
    (hot.collect(), old.profile)
}

/// The type in the file that has most of the hot members, with their places there.
fn hot_type(
    hot: &HotType,
    facts: &Facts,
    catalog: &Catalog<'_>,
    line_bytes: u64,
    same_build: bool,
) -> Result<Option<RecordedType>, Error> {
    let Ok(pattern) = TypePattern::parse(&hot.name) else {
        return Ok(None);
    };
    let look = |types: &Types, id: TypeId, entry: &Entry<'_>| -> Option<(Fit, RecordedType)> {
        let found = select::fits(types, id, entry, &pattern, None)?;
        let mut members = Vec::new();
        for member in &hot.members {
            let Some(place) = place_of(types, id, member, same_build) else {
                continue;
            };
            members.push(HotMember {
                offset: place.offset(),
                size: place.bytes(),
                path: place.path,
                ..member.clone()
            });
        }
        members.sort_by(|a, b| (a.offset, &a.path).cmp(&(b.offset, &b.path)));
        let paths: Vec<String> = members.iter().map(|member| member.path.clone()).collect();
        let one = RecordedType {
            line_bytes,
            phase: hot.phase,
            layout: KnownType::of(types, id, &found.name, &paths),
            hot: members,
        };
        Some((found.fit, one))
    };
    let entries = select::entries(catalog, &pattern);
    let found = catalog.each(&entries, look);
    let found = found.map_err(|source| Error::Layout {
        file: facts.path.clone(),
        source,
    })?;
    let found = found
        .into_iter()
        .flatten()
        .filter(|(_, one)| !one.hot.is_empty());
    // The first of those that fit best.
    let best = found.reduce(|best, one| {
        let rank = |(fit, one): &(Fit, RecordedType)| (one.hot.len(), *fit);
        if rank(&one) > rank(&best) { one } else { best }
    });
    Ok(best.map(|(_, one)| one))
}

/// Where a hot member is in a type, whose path has no indices yet: its offset tells them, if it
/// counts in this build.
fn place_of(types: &Types, id: TypeId, member: &HotMember, same_build: bool) -> Option<Place> {
    if !member.path.contains("[]") {
        let pattern = MemberPattern::parse(&member.path).ok()?;
        return members::find(types, id, &pattern).ok()?.into_iter().next();
    }
    same_build
        .then(|| members::with_indices(types, id, &member.path, member.offset))
        .flatten()
}

/// `lists.next` of `lists[2].next`.
fn without_indices(path: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for letter in path.chars() {
        match letter {
            '[' => inside = true,
            ']' => inside = false,
            _ if inside => {}
            letter => out.push(letter),
        }
    }
    out
}
