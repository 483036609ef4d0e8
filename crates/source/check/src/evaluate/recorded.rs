//! Rule for hot members: they share cache lines in the same way as in the record.

use std::collections::BTreeMap;

use super::words::join_names;
use super::{RuleBreach, RuleSubject, matching_places, missing_member};
use crate::lock::{RecordedHotMember, RecordedType};
use crate::members::MatchedMember;
use crate::{AsRecorded, Error, MemberPattern};

/// Recorded and current position of a hot member.
struct HotMemberChange<'r> {
    was: &'r RecordedHotMember,
    now: MatchedMember,
    old_line: u64,
    new_line: u64,
}

/// Returns the differences from the record:
///
/// - members that no longer exist
/// - cache lines whose members are now on several lines
/// - cache lines that now hold members of several recorded lines
/// - members that straddle a cache line now
/// - with [`AsRecorded::Offsets`], members that moved at all
pub(crate) fn judge_recorded(
    subject: &RuleSubject<'_>,
    record: &RecordedType,
    how: AsRecorded,
) -> Result<Vec<RuleBreach>, Error> {
    let mut breaches = Vec::new();
    let mut changes = Vec::new();
    for was in &record.hot {
        let found = match MemberPattern::parse(&was.path) {
            Ok(pattern) => matching_places(subject, &pattern)?,
            Err(_) => Vec::new(),
        };
        match found.into_iter().next() {
            Some(is) => changes.push(HotMemberChange {
                old_line: record.line_of(was.offset),
                new_line: record.line_of(is.offset()),
                was,
                now: is,
            }),
            None => breaches.push(missing_member(subject, &was.path)),
        }
    }
    breaches.extend(came_apart(subject, &changes));
    breaches.extend(came_together(subject, &changes));
    breaches.extend(
        changes
            .iter()
            .filter_map(|change| straddle_breach(subject, record, change)),
    );
    if how == AsRecorded::Offsets {
        breaches.extend(
            changes
                .iter()
                .filter_map(|change| move_breach(subject, change)),
        );
    }
    Ok(breaches)
}

/// Returns a breach for each recorded cache line whose members are now on several lines.
fn came_apart(subject: &RuleSubject<'_>, changes: &[HotMemberChange<'_>]) -> Vec<RuleBreach> {
    let mut lines: BTreeMap<u64, Vec<&HotMemberChange<'_>>> = BTreeMap::new();
    for change in changes {
        lines.entry(change.old_line).or_default().push(change);
    }
    let breach = |members: Vec<&HotMemberChange<'_>>| {
        let first = members.first()?;
        let culprit = members
            .iter()
            .find(|change| change.new_line != first.new_line)?;
        let expected = format!("{} on one line", joined_paths(&members));
        Some(group_breach(subject, &members, culprit, expected))
    };
    lines.into_values().filter_map(breach).collect()
}

/// Returns a breach for each cache line that now holds members of several recorded lines.
fn came_together(subject: &RuleSubject<'_>, changes: &[HotMemberChange<'_>]) -> Vec<RuleBreach> {
    let mut lines: BTreeMap<u64, BTreeMap<u64, Vec<&HotMemberChange<'_>>>> = BTreeMap::new();
    for change in changes {
        let here = lines.entry(change.new_line).or_default();
        here.entry(change.old_line).or_default().push(change);
    }
    let breach = |from: BTreeMap<u64, Vec<&HotMemberChange<'_>>>| {
        if from.len() < 2 {
            return None;
        }
        let sides: Vec<String> = from.values().map(|members| joined_paths(members)).collect();
        // The recorded line with the fewest members here is the cause.
        let culprit = *from.values().min_by_key(|members| members.len())?.first()?;
        let expected = format!("on different lines: {}", sides.join("; "));
        let members: Vec<&HotMemberChange<'_>> = from.values().flatten().copied().collect();
        Some(group_breach(subject, &members, culprit, expected))
    };
    lines.into_values().filter_map(breach).collect()
}

fn straddle_breach(
    subject: &RuleSubject<'_>,
    record: &RecordedType,
    change: &HotMemberChange<'_>,
) -> Option<RuleBreach> {
    let crosses = |offset: u64, size: u64| {
        let last = offset.saturating_add(size.max(1) - 1);
        record.line_of(offset) != record.line_of(last)
    };
    let does = crosses(change.now.offset(), change.now.bytes());
    let did = crosses(change.was.offset, change.was.size);
    (does && !did && change.now.bytes() <= record.line_bytes).then(|| {
        let expected = "on one line".to_owned();
        let found = super::words::describe_places(&[&change.now], subject.line_bytes);
        subject.breach_at(&change.now, expected, found)
    })
}

fn move_breach(subject: &RuleSubject<'_>, change: &HotMemberChange<'_>) -> Option<RuleBreach> {
    let (was, is) = (change.was.offset, change.now.offset());
    (was != is)
        .then(|| subject.breach_at(&change.now, format!("offset {was}"), format!("offset {is}")))
}

fn group_breach(
    subject: &RuleSubject<'_>,
    members: &[&HotMemberChange<'_>],
    culprit: &HotMemberChange<'_>,
    expected: String,
) -> RuleBreach {
    let places: Vec<&MatchedMember> = members.iter().map(|pair| &pair.now).collect();
    subject.breach_of_group(&places, &culprit.now, expected)
}

fn joined_paths(members: &[&HotMemberChange<'_>]) -> String {
    join_names(members.iter().map(|pair| &*pair.now.path))
}
