//! What was recorded of hot members, as relations of their offsets.

use std::collections::{BTreeMap, BTreeSet};

use super::block::{Blocks, Subject};
use super::c::{Dialect, Operand};
use super::guard::Guard;
use super::operand;
use super::rules::{Claim, Claims, Depends};
use super::text::{Item, What};
use crate::members::{self, Place};
use crate::{AsRecorded, HotMember, MemberPattern, RecordedType, RuleId};

/// What the record of the subject's type comes to; an error says why C cannot assert it.
pub fn items(
    blocks: &Blocks<'_>,
    subject: &Subject<'_>,
    how: AsRecorded,
) -> Result<Vec<Item>, String> {
    let none = || format!("the lock file has no hot members of {}", subject.name);
    let record = subject.of.record.ok_or_else(none)?;
    let of_type = record.type_named(subject.name);
    let of_type = of_type.filter(|one| !one.hot.is_empty()).ok_or_else(none)?;
    let guard = match Guard::of_record(blocks.config, record, blocks.form) {
        Guard::All(all) => all,
        Guard::Unknown(why) => return Err(why),
    };
    let dialect = Dialect {
        line_bytes: of_type.line_bytes,
        phase: of_type.phase,
        ..subject.dialect
    };
    let claims = Claims {
        dialect: &dialect,
        rule: RuleId::AsRecorded,
    };
    let mut items = Vec::new();
    let mut lines: BTreeMap<u64, Vec<(&HotMember, Operand)>> = BTreeMap::new();
    for hot in &of_type.hot {
        let place = place(subject, hot)?;
        match operand::operand(subject.types, &place) {
            Ok(operand) => {
                let line = lines.entry(of_type.line_of(hot.offset)).or_default();
                line.push((hot, operand));
            }
            Err(why) => items.push(Item::note(format!("not asserted (as_recorded): {why}"))),
        }
    }
    let found = relations(&claims, of_type, &lines, how);
    items.extend(found.into_iter().map(|claim| Item {
        line_bytes: (claim.depends == Depends::Line).then_some(of_type.line_bytes),
        what: What::Claim(claim),
        pointer_bytes: BTreeSet::new(),
        guard: guard.clone(),
    }));
    Ok(items)
}

fn place(subject: &Subject<'_>, hot: &HotMember) -> Result<Place, String> {
    let pattern = MemberPattern::parse(&hot.path)?;
    let found = members::find(subject.types, subject.id, &pattern);
    let first = found.ok().and_then(|found| found.into_iter().next());
    first.ok_or_else(|| format!("{} has no member `{}`", subject.name, hot.path))
}

/// Those that were on one line still are, the lines are still different ones, and what lay on one
/// line still does.
fn relations(
    claims: &Claims<'_>,
    of_type: &RecordedType,
    lines: &BTreeMap<u64, Vec<(&HotMember, Operand)>>,
    how: AsRecorded,
) -> Vec<Claim> {
    let mut found = Vec::new();
    // All on a line lie where its first does, so that the firsts stand for them.
    let mut firsts: Vec<&Operand> = Vec::new();
    for line in lines.values() {
        let members: Vec<&Operand> = line.iter().map(|(_, operand)| operand).collect();
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
        let was_whole = of_type.line_of(hot.offset) == of_type.line_of(last);
        if was_whole && !operand.is_aligned_scalar {
            found.push(claims.whole_if_it_fits(operand));
        }
        if how == AsRecorded::Offsets {
            found.push(claims.at(operand, hot.offset));
        }
    }
    found
}
