//! Reads what is asserted of types.

use super::reader::{Table, Value};
use crate::{AsRecorded, Assertion, Glob, MemberPattern, Position, Rule, TypePattern, TypeRules};

/// The `[[type]]` tables of `table`.
pub(super) fn types(table: &mut Table<'_, '_>) -> Vec<TypeRules> {
    let list = table.take("type").map(|value| value.list());
    let list = list.unwrap_or_default();
    list.iter().filter_map(one_type).collect()
}

fn one_type(value: &Value<'_, '_>) -> Option<TypeRules> {
    let mut table = value.table()?;
    let at = table.at();
    let name = table.need("name", "a [[type]]").and_then(|value| {
        let name = value.string()?;
        TypePattern::parse(name)
            .map_err(|message| value.wrong(message))
            .ok()
    });
    let declared_in = table.take("declared_in").and_then(|value| value.string());
    let optional = table.take("optional").and_then(|value| value.boolean());
    let reason = table.take("reason").and_then(|value| value.string());
    let problems_before = table.problem_count();
    let mut assertions = Vec::new();
    of_type(&mut table, &mut assertions);
    of_members(&mut table, &mut assertions);
    of_groups(&mut table, &mut assertions);
    assertions.sort_by_key(|assertion| assertion.at);
    if assertions.is_empty() && table.problem_count() == problems_before {
        table.wrong("this [[type]] asserts nothing");
    }
    table.finish();
    Some(TypeRules {
        name: name?,
        declared_in: declared_in.map(Glob::new),
        optional: optional.unwrap_or(false),
        reason: reason.map(str::to_owned),
        assertions,
        at,
    })
}

/// `size_max = 1408`, `align = 64`, `as_recorded = true`.
fn of_type(table: &mut Table<'_, '_>, found: &mut Vec<Assertion>) {
    let mut add = |rule: Option<Rule>, at| {
        found.extend(rule.map(|rule| Assertion { rule, at }));
    };
    if let Some(value) = table.take("size_max") {
        add(value.integer().map(Rule::SizeMax), value.at());
    }
    if let Some(value) = table.take("size") {
        add(value.integer().map(Rule::Size), value.at());
    }
    if let Some(value) = table.take("align") {
        add(value.power_of_two().map(Rule::Align), value.at());
    }
    if let Some(value) = table.take("as_recorded") {
        add(as_recorded(&value), value.at());
    }
}

fn as_recorded(value: &Value<'_, '_>) -> Option<Rule> {
    let how = match value.as_boolean() {
        Some(true) => Some(AsRecorded::Lines),
        Some(false) => return None,
        None => match value.string()? {
            "lines" => Some(AsRecorded::Lines),
            "offsets" => Some(AsRecorded::Offsets),
            other => {
                value.wrong(format!("`{other}` must be true, `lines` or `offsets`"));
                None
            }
        },
    };
    how.map(Rule::AsRecorded)
}

/// `at = { pgd = 80 }`, `aligned = { lock = 64 }`, `no_straddle = ["lock"]`.
fn of_members(table: &mut Table<'_, '_>, found: &mut Vec<Assertion>) {
    for (path, at, value) in by_member(table.take("at")) {
        let rule = || {
            let member = member(&path, &value)?;
            if member.is_open() {
                value.wrong(format!(
                    "`{path}` can match several members, which cannot all begin at one offset"
                ));
            }
            let offset = value.integer()?;
            Some(Rule::At { member, offset })
        };
        found.extend(rule().map(|rule| Assertion { rule, at }));
    }
    for (path, at, value) in by_member(table.take("aligned")) {
        let rule = || {
            let member = member(&path, &value)?;
            let bytes = value.power_of_two()?;
            Some(Rule::Aligned { member, bytes })
        };
        found.extend(rule().map(|rule| Assertion { rule, at }));
    }
    let list = table.take("no_straddle").map(|value| value.strings());
    for (path, value) in list.unwrap_or_default() {
        let at = value.at();
        let rule = member(path, &value).map(Rule::NoStraddle);
        found.extend(rule.map(|rule| Assertion { rule, at }));
    }
}

/// The entries of a table by members' paths. A path that was written without quotes is a table in a
/// table to TOML.
fn by_member<'r, 't>(value: Option<Value<'r, 't>>) -> Vec<(String, Position, Value<'r, 't>)> {
    let mut found = Vec::new();
    let mut pending: Vec<(String, Value<'r, 't>)> = Vec::new();
    pending.extend(value.map(|value| (String::new(), value)));
    while let Some((prefix, value)) = pending.pop() {
        let Some(mut table) = value.table() else {
            continue;
        };
        let entries = table.take_all();
        if entries.is_empty() {
            table.wrong("the table is empty");
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

fn member(path: &str, value: &Value<'_, '_>) -> Option<MemberPattern> {
    MemberPattern::parse(path)
        .map_err(|message| value.wrong(message))
        .ok()
}

/// `same_line = [["a", "b"], ["c", "d"]]`, or one group without the outer brackets.
fn of_groups(table: &mut Table<'_, '_>, found: &mut Vec<Assertion>) {
    type Make = fn(Vec<MemberPattern>) -> Rule;
    let kinds: [(&'static str, Make, usize); 4] = [
        ("same_line", Rule::SameLine, 2),
        ("within_line", Rule::WithinLine, 1),
        ("different_lines", Rule::DifferentLines, 2),
        ("different_pairs", Rule::DifferentPairs, 2),
    ];
    for (key, make, least) in kinds {
        let Some(value) = table.take(key) else {
            continue;
        };
        let list = value.list();
        let groups = if list.iter().any(Value::is_string) {
            vec![value]
        } else {
            if list.is_empty() {
                value.wrong("the list is empty");
            }
            list
        };
        for group in groups {
            found.extend(one_group(&group, make, least));
        }
    }
}

fn one_group(
    group: &Value<'_, '_>,
    make: fn(Vec<MemberPattern>) -> Rule,
    least: usize,
) -> Option<Assertion> {
    let names = group.strings();
    let paths: Option<Vec<MemberPattern>> = names
        .iter()
        .map(|(path, value)| member(path, value))
        .collect();
    let paths = paths.filter(|paths| !paths.is_empty())?;
    let rule = make(paths);
    // A glob stands for several members where they shall be together, for one where apart.
    let together = matches!(rule, Rule::SameLine(_) | Rule::WithinLine(_));
    let several = together && rule.members().iter().any(MemberPattern::is_open);
    if names.len() < least && !several {
        group.wrong("this takes at least two members");
        return None;
    }
    Some(Assertion {
        rule,
        at: group.at(),
    })
}
