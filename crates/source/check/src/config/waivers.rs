//! Reader of waivers.

use relayout_layout::suggestions;

use super::reader::TomlValue;
use crate::{GlobPattern, RuleId, TypePattern, Waiver};

pub(super) fn read_waiver(value: &TomlValue<'_, '_>) -> Option<Waiver> {
    let mut table = value.table()?;
    let at = table.at();
    let type_name = table.require_key("type", "a [[waiver]]").and_then(|value| {
        TypePattern::parse(value.string()?)
            .map_err(|message| value.add_problem(message))
            .ok()
    });
    let rule = table.take_key("rule").map(|value| read_rule(&value));
    let member = table.take_string("member");
    let files = table.take_strings("files").into_iter();
    let reason = table
        .require_key("reason", "a [[waiver]]")
        .and_then(|value| {
            let reason = value.string()?.trim();
            if reason.is_empty() {
                value.add_problem("the reason is empty");
            }
            Some(reason)
        });
    let expires = table
        .require_key("expires", "a [[waiver]]")
        .and_then(|value| value.date());
    table.finish();
    Some(Waiver {
        type_name: type_name?,
        rule: rule.flatten(),
        member: member.map(GlobPattern::new),
        files: files.map(|(glob, _)| GlobPattern::new(glob)).collect(),
        reason: reason?.to_owned(),
        expires: expires?,
        at,
    })
}

fn read_rule(value: &TomlValue<'_, '_>) -> Option<RuleId> {
    let name = value.string()?;
    let found = RuleId::all().find(|id| id.as_str() == name);
    if found.is_none() {
        let names: Vec<&str> = RuleId::all().map(RuleId::as_str).collect();
        let suggestions = suggestions::similar_names(names.iter().copied(), name);
        let remedy = match suggestions.first() {
            Some(close) => format!("did you mean `{close}`?"),
            None => format!("rules are {}", super::reader::quoted_list(&names)),
        };
        value.add_remedied(format!("unknown rule `{name}`"), remedy);
    }
    found
}
