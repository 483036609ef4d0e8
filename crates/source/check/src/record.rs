//! Recorder of member positions: a baseline of another build, or a record for the lock file.

use std::collections::BTreeMap;

use relayout_layout::catalog::TypeCatalog;
use relayout_layout::{TypeArena, TypeId};

use crate::hot::HotTypeMembers;
use crate::known::KnownType;
use crate::members::MatchedMember;
use crate::select::{DefinitionFit, FoundDefinition};
use crate::{
    CheckConfig, Error, FileFacts, LockRecord, MemberPattern, ProfileFacts, RecordedHotMember,
    RecordedType, RuleSection, TypePattern, TypeRules, applicable_sections, members, select,
};

/// Records the members of all types that rules name, for all sections.
///
/// # Errors
/// Returns an error if the debug information contradicts itself.
pub fn baseline_types(
    config: &CheckConfig,
    facts: &FileFacts,
    catalog: &TypeCatalog<'_>,
) -> Result<Vec<KnownType>, Error> {
    ruled_types(config.sections.iter(), facts, catalog, |_| true)
}

fn ruled_types<'c>(
    sections: impl Iterator<Item = &'c RuleSection>,
    facts: &FileFacts,
    catalog: &TypeCatalog<'_>,
    wanted: impl Fn(&TypeRules) -> bool,
) -> Result<Vec<KnownType>, Error> {
    let mut known: Vec<KnownType> = Vec::new();
    let rules = sections.flat_map(|section| &section.types);
    for rules in rules.filter(|rules| wanted(rules)) {
        for found in types_of_rules(rules, facts, catalog)? {
            match known.iter_mut().find(|earlier| earlier.name == found.name) {
                // Both have all direct members of the type. The inner members may differ.
                Some(earlier) => earlier.add_missing_members(found.members),
                None => known.push(found),
            }
        }
    }
    Ok(known)
}

fn types_of_rules(
    rules: &TypeRules,
    facts: &FileFacts,
    catalog: &TypeCatalog<'_>,
) -> Result<Vec<KnownType>, Error> {
    let known_type = |types: &TypeArena, id: TypeId, found: FoundDefinition| {
        let assertions = rules.assertions.iter();
        let patterns = assertions.flat_map(|assertion| assertion.rule.members());
        let places = patterns.flat_map(|pattern| members::find_members(types, id, pattern));
        let paths: Vec<String> = places.flatten().map(|place| place.path).collect();
        KnownType::from_definition(types, id, &found.name, &paths)
    };
    let declared_in = rules.declared_in.as_ref();
    select::map_definitions(catalog, &facts.path, &rules.name, declared_in, known_type)
}

/// Hot members of a profile, and the build that their offsets belong to.
#[derive(Clone, Copy, Debug)]
pub struct RecentProfile<'a> {
    /// Hot members of the profile, by type.
    pub types: &'a [HotTypeMembers],
    /// Facts about the profile.
    pub profile: &'a ProfileFacts,
}

/// New record, and the names that it leaves out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockUpdate {
    /// New record.
    pub record: LockRecord,
    /// Names of the hot types and members that the file does not have.
    pub left_out: Vec<String>,
}

/// Records the positions of the hot members of a file, and all members of the types that rules
/// name. Without a `recent` profile, the hot members of `old` stay hot.
///
/// # Errors
/// Returns an [`Error`] if the file allows no verdict.
pub fn record_layouts(
    config: &CheckConfig,
    named: &[String],
    facts: &FileFacts,
    catalog: &TypeCatalog<'_>,
    recent: Option<RecentProfile<'_>>,
    old: impl FnOnce(&[String]) -> Option<LockRecord>,
) -> Result<LockUpdate, Error> {
    let applied = applicable_sections(config, named, facts, catalog)?;
    let configurations = applied.configuration_names();
    let (hot, profile) = match recent {
        Some(recent) => (recent.types.to_vec(), Some(recent.profile.clone())),
        None => formerly_hot(old(&configurations)),
    };
    let line_bytes = applied.sections.first().map_or(64, |(_, bytes)| *bytes);
    let same_build = profile
        .as_ref()
        .is_some_and(|profile| facts.build_id.as_ref() == Some(&profile.build_id));
    let mut update = LockUpdate {
        record: LockRecord {
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
    for hot_type in &hot {
        let found = record_hot_type(hot_type, facts, catalog, line_bytes, same_build)?;
        update
            .left_out
            .extend(missing_names(hot_type, found.as_ref()));
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
        known.layout.add_missing_members(layout.members);
    }
    update.record.types = types.into_values().collect();
    Ok(update)
}

/// Names of the hot members that the type does not have.
fn missing_names(hot: &HotTypeMembers, found: Option<&RecordedType>) -> Vec<String> {
    let Some(found) = found else {
        return vec![hot.name.clone()];
    };
    let has = |member: &RecordedHotMember| {
        let same = |other: &RecordedHotMember| {
            without_indices(&other.path) == without_indices(&member.path)
        };
        found.hot.iter().any(same)
    };
    let missing = hot.members.iter().filter(|member| !has(member));
    missing
        .map(|member| format!("{}.{}", hot.name, member.path))
        .collect()
}

fn formerly_hot(old: Option<LockRecord>) -> (Vec<HotTypeMembers>, Option<ProfileFacts>) {
    let Some(old) = old else {
        return (Vec::new(), None);
    };
    let hot = old
        .types
        .into_iter()
        .filter(|recorded| !recorded.hot.is_empty());
    let hot = hot.map(|recorded| HotTypeMembers {
        name: recorded.layout.name,
        phase: recorded.phase,
        members: recorded.hot,
    });
    (hot.collect(), old.profile)
}

/// Returns the type in the file with the most of the hot members, and their positions.
fn record_hot_type(
    hot: &HotTypeMembers,
    facts: &FileFacts,
    catalog: &TypeCatalog<'_>,
    line_bytes: u64,
    same_build: bool,
) -> Result<Option<RecordedType>, Error> {
    let Ok(pattern) = TypePattern::parse(&hot.name) else {
        return Ok(None);
    };
    let recorded_type = |types: &TypeArena, id: TypeId, found: FoundDefinition| {
        let recorded = hot.members.iter().filter_map(|member| {
            let place = find_hot_member(types, id, member, same_build)?;
            Some(RecordedHotMember {
                offset: place.offset(),
                size: place.bytes(),
                path: place.path,
                ..member.clone()
            })
        });
        let mut members: Vec<RecordedHotMember> = recorded.collect();
        members.sort_by(|a, b| (a.offset, &a.path).cmp(&(b.offset, &b.path)));
        let paths: Vec<String> = members.iter().map(|member| member.path.clone()).collect();
        let recorded = RecordedType {
            line_bytes,
            phase: hot.phase,
            layout: KnownType::from_definition(types, id, &found.name, &paths),
            hot: members,
        };
        (found.fit, recorded)
    };
    let found = select::map_definitions(catalog, &facts.path, &pattern, None, recorded_type)?;
    let found = { found.into_iter() }.filter(|(_, recorded)| !recorded.hot.is_empty());
    // Among equally good types, the first wins.
    let best = found.reduce(|best, candidate| {
        let rank = |(fit, recorded): &(DefinitionFit, RecordedType)| (recorded.hot.len(), *fit);
        if rank(&candidate) > rank(&best) {
            candidate
        } else {
            best
        }
    });
    Ok(best.map(|(_, recorded)| recorded))
}

/// Finds the position of a hot member whose path has no indices yet. The member's offset gives the
/// indices if the offset belongs to this build.
fn find_hot_member(
    types: &TypeArena,
    id: TypeId,
    member: &RecordedHotMember,
    same_build: bool,
) -> Option<MatchedMember> {
    if !member.path.contains("[]") {
        let pattern = MemberPattern::parse(&member.path).ok()?;
        return members::find_members(types, id, &pattern)
            .ok()?
            .into_iter()
            .next();
    }
    same_build
        .then(|| members::member_with_indices(types, id, &member.path, member.offset))
        .flatten()
}

/// Removes the indices: `lists.next` for `lists[2].next`.
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
