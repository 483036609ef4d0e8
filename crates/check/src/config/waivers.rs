//! Reads waivers.

use relayout_layout::close;

use super::reader::Value;
use crate::{Glob, RuleId, TypePattern, Waiver};

pub(super) fn waiver(value: &Value<'_, '_>) -> Option<Waiver> {
    let mut table = value.table()?;
    let at = table.at();
    let type_name = table.need("type", "a [[waiver]]").and_then(|value| {
        TypePattern::parse(value.string()?)
            .map_err(|message| value.wrong(message))
            .ok()
    });
    let rule = table.take("rule").map(|value| rule(&value));
    let member = table.take("member").and_then(|value| value.string());
    let files = table.take("files").map(|value| value.strings());
    let reason = table.need("reason", "a [[waiver]]").and_then(|value| {
        let reason = value.string()?.trim();
        if reason.is_empty() {
            value.wrong("the reason is empty");
        }
        Some(reason)
    });
    let expires = table
        .need("expires", "a [[waiver]]")
        .and_then(|value| value.date());
    table.finish();
    Some(Waiver {
        type_name: type_name?,
        rule: rule.flatten(),
        member: member.map(Glob::new),
        files: files
            .into_iter()
            .flatten()
            .map(|(glob, _)| Glob::new(glob))
            .collect(),
        reason: reason?.to_owned(),
        expires: expires?,
        at,
    })
}

fn rule(value: &Value<'_, '_>) -> Option<RuleId> {
    let name = value.string()?;
    let found = RuleId::ALL.into_iter().find(|id| id.as_str() == name);
    if found.is_none() {
        let names: Vec<&str> = RuleId::ALL.into_iter().map(RuleId::as_str).collect();
        let close = close::names(names.iter().copied(), name);
        let hint = match close.first() {
            Some(close) => format!("; did you mean `{close}`?"),
            None => format!("; rules are {}", super::reader::listed(&names)),
        };
        value.wrong(format!("unknown rule `{name}`{hint}"));
    }
    found
}
