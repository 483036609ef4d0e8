//! Reader of the assertions about types.

use super::reader::{TomlTable, TomlValue};
use crate::{
    AsRecorded, ConfigPosition, GlobPattern, LayoutAssertion, LayoutRule, MemberPattern,
    TypePattern, TypeRules,
};

/// Reads the `[[type]]` tables of `table`.
pub(super) fn read_types(table: &mut TomlTable<'_, '_>) -> Vec<TypeRules> {
    table
        .take_list("type")
        .iter()
        .filter_map(read_type)
        .collect()
}

fn read_type(value: &TomlValue<'_, '_>) -> Option<TypeRules> {
    let mut table = value.table()?;
    let at = table.at();
    let name = table.require_key("name", "a [[type]]").and_then(|value| {
        let name = value.string()?;
        TypePattern::parse(name)
            .map_err(|message| value.add_problem(message))
            .ok()
    });
    let declared_in = table.take_string("declared_in");
    let optional = table.take_key("optional").and_then(|value| value.boolean());
    let reason = table.take_string("reason");
    let problems_before = table.problem_count();
    let mut assertions = Vec::new();
    read_type_rules(&mut table, &mut assertions);
    read_member_rules(&mut table, &mut assertions);
    read_group_rules(&mut table, &mut assertions);
    assertions.sort_by_key(|assertion| assertion.at);
    if assertions.is_empty() && table.problem_count() == problems_before {
        table.add_problem("this [[type]] asserts nothing");
    }
    table.finish();
    Some(TypeRules {
        name: name?,
        declared_in: declared_in.map(GlobPattern::new),
        optional: optional.unwrap_or(false),
        reason: reason.map(str::to_owned),
        assertions,
        at,
    })
}

/// Reads the rules of a whole type: `size_max = 1408`, `align = 64`, `as_recorded = true`.
fn read_type_rules(table: &mut TomlTable<'_, '_>, found: &mut Vec<LayoutAssertion>) {
    type ReadRule = fn(&TomlValue<'_, '_>) -> Option<LayoutRule>;
    let readers: [(&'static str, ReadRule); 4] = [
        ("size_max", |value| value.integer().map(LayoutRule::SizeMax)),
        ("size", |value| value.integer().map(LayoutRule::Size)),
        ("align", |value| value.power_of_two().map(LayoutRule::Align)),
        ("as_recorded", read_as_recorded),
    ];
    for (key, read_rule) in readers {
        found.extend(table.take_key(key).and_then(|value| {
            let (rule, at) = (read_rule(&value)?, value.at());
            Some(LayoutAssertion { rule, at })
        }));
    }
}

fn read_as_recorded(value: &TomlValue<'_, '_>) -> Option<LayoutRule> {
    let how = match value.as_boolean() {
        Some(true) => Some(AsRecorded::Lines),
        Some(false) => return None,
        None => match value.string()? {
            "lines" => Some(AsRecorded::Lines),
            "offsets" => Some(AsRecorded::Offsets),
            other => {
                value.add_problem(format!("`{other}` must be true, `lines` or `offsets`"));
                None
            }
        },
    };
    how.map(LayoutRule::AsRecorded)
}

/// Reads the rules of single members: `at = { pgd = 80 }`, `aligned = { lock = 64 }`,
/// `no_straddle = ["lock"]`.
fn read_member_rules(table: &mut TomlTable<'_, '_>, found: &mut Vec<LayoutAssertion>) {
    for (path, at, value) in entries_by_member(table.take_key("at")) {
        let rule = || {
            let member = parse_member(&path, &value)?;
            if member.is_open() {
                value.add_problem(format!(
                    "`{path}` can match several members, which cannot all begin at one offset"
                ));
            }
            let offset = value.integer()?;
            Some(LayoutRule::At { member, offset })
        };
        found.extend(rule().map(|rule| LayoutAssertion { rule, at }));
    }
    for (path, at, value) in entries_by_member(table.take_key("aligned")) {
        let rule = || {
            let member = parse_member(&path, &value)?;
            let bytes = value.power_of_two()?;
            Some(LayoutRule::Aligned { member, bytes })
        };
        found.extend(rule().map(|rule| LayoutAssertion { rule, at }));
    }
    for (path, value) in table.take_strings("no_straddle") {
        let at = value.at();
        let rule = parse_member(path, &value).map(LayoutRule::NoStraddle);
        found.extend(rule.map(|rule| LayoutAssertion { rule, at }));
    }
}

/// Reads the entries of a table that is keyed by member paths. TOML turns a dotted path without
/// quotes into nested tables.
fn entries_by_member<'r, 't>(
    value: Option<TomlValue<'r, 't>>,
) -> Vec<(String, ConfigPosition, TomlValue<'r, 't>)> {
    let mut found = Vec::new();
    let mut pending: Vec<(String, TomlValue<'r, 't>)> = Vec::new();
    pending.extend(value.map(|value| (String::new(), value)));
    while let Some((prefix, value)) = pending.pop() {
        let Some(mut table) = value.table() else {
            continue;
        };
        let entries = table.take_entries();
        if entries.is_empty() {
            table.add_problem("the table is empty");
        }
        for (key, at, value) in entries {
            let path = match prefix.as_str() {
                "" => key.to_owned(),
                prefix => format!("{prefix}.{key}"),
            };
            if value.is_table() {
                pending.push((path, value));
            } else {
                found.push((path, at, value));
            }
        }
    }
    found
}

fn parse_member(path: &str, value: &TomlValue<'_, '_>) -> Option<MemberPattern> {
    MemberPattern::parse(path)
        .map_err(|message| value.add_problem(message))
        .ok()
}

/// Reads the rules of member groups: `same_line = [["a", "b"], ["c", "d"]]`, or one group without
/// the outer brackets.
fn read_group_rules(table: &mut TomlTable<'_, '_>, found: &mut Vec<LayoutAssertion>) {
    type Make = fn(Vec<MemberPattern>) -> LayoutRule;
    let kinds: [(&'static str, Make, usize); 4] = [
        ("same_line", LayoutRule::SameLine, 2),
        ("within_line", LayoutRule::WithinLine, 1),
        ("different_lines", LayoutRule::DifferentLines, 2),
        ("different_pairs", LayoutRule::DifferentPairs, 2),
    ];
    for (key, make, least) in kinds {
        let Some(value) = table.take_key(key) else {
            continue;
        };
        let list = value.list();
        let groups = if list.iter().any(TomlValue::is_string) {
            vec![value]
        } else {
            if list.is_empty() {
                value.add_problem("the list is empty");
            }
            list
        };
        for group in groups {
            found.extend(read_group(&group, make, least));
        }
    }
}

fn read_group(
    group: &TomlValue<'_, '_>,
    make: fn(Vec<MemberPattern>) -> LayoutRule,
    least: usize,
) -> Option<LayoutAssertion> {
    let names = group.strings();
    let paths: Option<Vec<MemberPattern>> = names
        .iter()
        .map(|(path, value)| parse_member(path, value))
        .collect();
    let paths = paths.filter(|paths| !paths.is_empty())?;
    let rule = make(paths);
    // In a rule that keeps members together, a glob stands for all members that match it. In a rule
    // that separates members, a glob stands for one group.
    if rule.is_apart()
        && let Some((twice, value)) = repeated_entry(&names)
    {
        value.add_problem(format!(
            "`{twice}` is in the group twice, and no member lies apart from itself"
        ));
        return None;
    }
    let several = !rule.is_apart() && rule.members().iter().any(MemberPattern::is_open);
    if names.len() < least && !several {
        group.add_problem("this takes at least two members");
        return None;
    }
    Some(LayoutAssertion {
        rule,
        at: group.at(),
    })
}

fn repeated_entry<'n, 'v, 'r, 't>(
    names: &'n [(&'v str, TomlValue<'r, 't>)],
) -> Option<&'n (&'v str, TomlValue<'r, 't>)> {
    let earlier = |index: usize, path: &str| names[..index].iter().any(|(other, _)| *other == path);
    let numbered = names.iter().enumerate();
    let mut repeated = numbered.filter(|(index, (path, _))| earlier(*index, path));
    repeated.next().map(|(_, entry)| entry)
}
