//! Members by the names that users type.

use std::collections::BTreeSet;

use relayout_layout::TypePattern;
use relayout_layout::word_lists::word_list;
use relayout_messages::UserError;

use super::cells::{QueryRow, QueryRows};
use super::selection::quote;
use crate::FleetError;
use crate::engine::QueryEngine;

/// Names that are listed in a message.
const LISTED_MAX: usize = 6;
/// Names among which similar ones are sought.
const KNOWN_MAX: usize = 200_000;

/// A member with transfers in some recording.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamedMember {
    /// Type; empty for a variable that is of no struct or class.
    pub type_name: String,
    /// Variable; empty for objects that are none.
    pub variable: String,
    /// Path from the type.
    pub member: String,
}

impl NamedMember {
    /// Returns the member of a row.
    pub fn of_row(row: &QueryRow<'_>) -> Self {
        Self {
            type_name: row.text("type"),
            variable: row.text("variable"),
            member: row.text("member"),
        }
    }

    /// Returns the name: `dentry.d_lockref`, `runqueues.nr_running`, `jiffies`. A hole is `dentry (hole)`.
    pub fn full_name(&self) -> String {
        let owner = match self.variable.as_str() {
            "" => &self.type_name,
            variable => variable,
        };
        match (self.member.as_str(), self.type_name.as_str()) {
            ("", "") => owner.to_owned(),
            ("", _) => format!("{owner} (hole)"),
            (member, _) => format!("{owner}.{member}"),
        }
    }
}

/// Meaning of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameScope {
    /// `TYPE.MEMBER`, `VARIABLE.MEMBER` or a variable without members.
    Exact,
    /// Members below one of these: `dentry.d_lockref` holds `dentry.d_lockref.count`.
    Below,
    /// Both; and all members of a type or variable, and all members of a name.
    Wide,
}

/// Parses the name of a member, type or variable, with or without the keyword of the type.
///
/// # Errors
/// It is no name.
pub fn parse_name(name: &str) -> Result<TypePattern, FleetError> {
    Ok(TypePattern::parse(name).map_err(UserError::input)?)
}

/// Returns the condition that selects the members that a name may mean.
pub fn name_condition(pattern: &TypePattern, scope: NameScope) -> String {
    let name = pattern.bare_name();
    let whole = quote(name);
    let owner = |text: &str| format!("(type = {0} OR variable = {0})", quote(text));
    let mut conditions = Vec::new();
    if scope != NameScope::Below {
        conditions.push(format!("(variable = {whole} AND member = '')"));
    }
    for (owner_name, member) in name_splits(name) {
        let is_member = format!("member = {}", quote(member));
        let is_below = format!(
            "starts_with(member, {}) OR starts_with(member, {})",
            quote(&format!("{member}.")),
            quote(&format!("{member}["))
        );
        let matches = match scope {
            NameScope::Exact => is_member,
            NameScope::Below => is_below,
            NameScope::Wide => format!("{is_member} OR {is_below}"),
        };
        conditions.push(format!("({} AND ({matches}))", owner(owner_name)));
    }
    if scope == NameScope::Wide {
        conditions.push(owner(name));
        conditions.push(format!("member = {whole}"));
    }
    match conditions.is_empty() {
        true => "FALSE".to_owned(),
        false => format!("({})", conditions.join(" OR ")),
    }
}

/// Returns the ways to split a name into the name of a type or variable and that of a member.
fn name_splits(name: &str) -> impl Iterator<Item = (&str, &str)> {
    { name.match_indices('.') }
        .map(|(dot, _)| (&name[..dot], &name[dot + 1..]))
        .filter(|(owner, member)| !owner.is_empty() && !member.is_empty())
}

/// Returns true if `path` is that of `holder`, or of a member in it.
pub fn is_within(path: &str, holder: &str) -> bool {
    let rest = path.strip_prefix(holder);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Returns the member that a name means. One that only members of it are accessed in, such as a union, is meant too.
///
/// # Errors
/// No recording has it, or several members have it.
pub async fn find_member(engine: &QueryEngine, name: &str) -> Result<NamedMember, FleetError> {
    let pattern = parse_name(name)?;
    let mut found = members_where(engine, &name_condition(&pattern, NameScope::Exact)).await?;
    if found.is_empty() {
        let below = members_where(engine, &name_condition(&pattern, NameScope::Below)).await?;
        found = below
            .iter()
            .filter_map(|member| holder_of(member, pattern.bare_name()))
            .collect();
    }
    if found.is_empty() {
        found = members_where(engine, &format!("member = {}", quote(name))).await?;
    }
    let count = found.len();
    match (count, found.pop_first()) {
        (_, None) => Err(unknown_name(engine, &pattern).await?),
        (1, Some(member)) => Ok(member),
        (_, Some(first)) => Err(FleetError::AmbiguousName {
            name: name.to_owned(),
            candidates: {
                let others = found.iter().map(NamedMember::full_name);
                let names: Vec<String> = [first.full_name()].into_iter().chain(others).collect();
                word_list(&names, LISTED_MAX)
            },
        }),
    }
}

/// Returns the member with the name that holds `member`.
fn holder_of(member: &NamedMember, name: &str) -> Option<NamedMember> {
    let owns = |owner: &str| owner == member.type_name || owner == member.variable;
    let split = name_splits(name);
    let mut holders = split.filter(|(owner, path)| owns(owner) && is_within(&member.member, path));
    holders.next().map(|(_, path)| NamedMember {
        member: path.to_owned(),
        ..member.clone()
    })
}

async fn members_where(
    engine: &QueryEngine,
    condition: &str,
) -> Result<BTreeSet<NamedMember>, FleetError> {
    let query = format!("SELECT DISTINCT type, variable, member FROM members WHERE {condition}");
    let rows = QueryRows::new(engine.query(&query).await?)?;
    Ok(rows.iter().map(|row| NamedMember::of_row(&row)).collect())
}

/// Returns the error about a name that nothing has, with similar ones.
///
/// # Errors
/// The names cannot be read.
pub async fn unknown_name(
    engine: &QueryEngine,
    pattern: &TypePattern,
) -> Result<FleetError, FleetError> {
    let query = format!("SELECT DISTINCT type, variable, member FROM members LIMIT {KNOWN_MAX}");
    let rows = QueryRows::new(engine.query(&query).await?)?;
    let members = rows.iter().map(|row| NamedMember::of_row(&row));
    let known: BTreeSet<String> = members
        .flat_map(|member| [member.full_name(), member.type_name, member.variable])
        .collect();
    let similar = pattern.similar_printed(known.iter().map(String::as_str));
    let message = format!(
        "no recording has transfers on a member, type or variable {pattern}, or in a function of that name"
    );
    Ok(UserError::unknown_name(message, &similar, None).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_have_dots_in_the_type_or_in_the_member() {
        let condition =
            |name: &str, scope| name_condition(&TypePattern::parse(name).expect("a name"), scope);
        assert_eq!(
            condition("struct a.b.c", NameScope::Exact),
            "((variable = 'a.b.c' AND member = '') \
             OR ((type = 'a' OR variable = 'a') AND (member = 'b.c')) \
             OR ((type = 'a.b' OR variable = 'a.b') AND (member = 'c')))"
        );
        assert_eq!(
            condition("x'", NameScope::Wide),
            "((variable = 'x''' AND member = '') OR (type = 'x''' OR variable = 'x''') OR member = 'x''')"
        );
        assert_eq!(condition("x", NameScope::Below), "FALSE");
    }

    #[test]
    fn a_union_holds_its_members() {
        let count = NamedMember {
            type_name: "dentry".to_owned(),
            variable: String::new(),
            member: "d_lockref.count".to_owned(),
        };
        let holder = holder_of(&count, "dentry.d_lockref").expect("it holds the count");
        assert_eq!(holder.full_name(), "dentry.d_lockref");
        assert_eq!(holder_of(&count, "dentry.d_lock"), None);
    }
}
