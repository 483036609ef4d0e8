//! Claims about recorded hot members, as relations of their offsets.

use std::collections::{BTreeMap, BTreeSet};

use super::definition::EmittedDefinition;
use super::expression::{CDialect, CMember};
use super::guard::PreprocessorGuard;
use super::operand;
use super::rules::{ClaimBuilder, ClaimDependence, LayoutClaim};
use super::text::{EmittedItem, ItemContent};
use crate::members::{self, MatchedMember};
use crate::{AsRecorded, CheckConfig, MemberPattern, RecordedHotMember, RecordedType, RuleId};

/// Creates the items for the record of the type. The error explains why C cannot express the
/// claims.
pub fn recorded_items(
    config: &CheckConfig,
    subject: &EmittedDefinition<'_>,
    how: AsRecorded,
) -> Result<Vec<EmittedItem>, String> {
    let none = || format!("the lock file has no hot members of {}", subject.name);
    let record = subject.origin.record.ok_or_else(none)?;
    let recorded = record.type_named(subject.name);
    let recorded = recorded
        .filter(|recorded| !recorded.hot.is_empty())
        .ok_or_else(none)?;
    let guard = match PreprocessorGuard::from_record(config, record, subject.dialect.form) {
        PreprocessorGuard::All(all) => all,
        PreprocessorGuard::Unknown(why) => return Err(why),
    };
    let dialect = CDialect {
        line_bytes: recorded.line_bytes,
        phase: recorded.phase,
        ..subject.dialect
    };
    let claims = ClaimBuilder {
        dialect: &dialect,
        rule: RuleId::AsRecorded,
    };
    let mut items = Vec::new();
    let mut lines: BTreeMap<u64, Vec<(&RecordedHotMember, CMember)>> = BTreeMap::new();
    for hot in &recorded.hot {
        let place = find_place(subject, hot)?;
        match operand::c_member(subject.types, &place) {
            Ok(operand) => {
                let line = lines.entry(recorded.line_of(hot.offset)).or_default();
                line.push((hot, operand));
            }
            Err(why) => items.push(EmittedItem::note(format!(
                "not asserted (as_recorded): {why}"
            ))),
        }
    }
    let found = recorded_claims(&claims, recorded, &lines, how);
    items.extend(found.into_iter().map(|claim| EmittedItem {
        line_bytes: (claim.depends == ClaimDependence::Line).then_some(recorded.line_bytes),
        content: ItemContent::Claim(claim),
        pointer_bytes: BTreeSet::new(),
        guard: guard.clone(),
    }));
    Ok(items)
}

fn find_place(
    subject: &EmittedDefinition<'_>,
    hot: &RecordedHotMember,
) -> Result<MatchedMember, String> {
    let pattern = MemberPattern::parse(&hot.path)?;
    let found = members::find_members(subject.types, subject.id, &pattern);
    let first = found.ok().and_then(|found| found.into_iter().next());
    first.ok_or_else(|| format!("{} has no member `{}`", subject.name, hot.path))
}

/// Creates three kinds of claims: members of one cache line still share a line, members of
/// different lines still have different lines, and members that fitted in one line still fit.
fn recorded_claims(
    claims: &ClaimBuilder<'_>,
    recorded: &RecordedType,
    lines: &BTreeMap<u64, Vec<(&RecordedHotMember, CMember)>>,
    how: AsRecorded,
) -> Vec<LayoutClaim> {
    let mut found = Vec::new();
    // All members of a cache line lie on the line of its first member, so the first members
    // represent the lines.
    let mut firsts: Vec<&CMember> = Vec::new();
    for line in lines.values() {
        let members: Vec<&CMember> = line.iter().map(|(_, operand)| operand).collect();
        found.extend(claims.same_line(&members));
        let Some(first) = members.first() else {
            continue;
        };
        for other in &firsts {
            found.push(claims.begin_apart(other, first));
        }
        firsts.push(first);
    }
    for (hot, operand) in lines.values().flatten() {
        let last = hot.offset.saturating_add(hot.size.max(1) - 1);
        let was_whole = recorded.line_of(hot.offset) == recorded.line_of(last);
        if was_whole && !operand.is_aligned_scalar {
            found.push(claims.whole_if_it_fits(operand));
        }
        if how == AsRecorded::Offsets {
            found.push(claims.at(operand, hot.offset));
        }
    }
    found
}
