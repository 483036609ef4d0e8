//! Rules for members that must share a cache line.

use super::words::join_names;
use super::{RuleBreach, RuleSubject};
use crate::members::{self, MatchedMember};

/// Maximum number of members between two others that a breach lists.
const BETWEEN_MAX: usize = 6;

pub(super) fn judge_same_line(
    subject: &RuleSubject<'_>,
    places: &[MatchedMember],
) -> Option<RuleBreach> {
    let line = |place: &MatchedMember| place.offset() / subject.line_bytes;
    let first = places.first()?;
    let culprit = places.iter().find(|place| line(place) != line(first))?;
    let others = places.iter().filter(|place| place.path != culprit.path);
    let expected = format!(
        "on one line with {}",
        join_names(others.map(|place| &*place.path))
    );
    Some(group_breach(subject, places, culprit, expected))
}

pub(super) fn judge_within_line(
    subject: &RuleSubject<'_>,
    places: &[MatchedMember],
) -> Option<RuleBreach> {
    let first = places.first()?;
    let line = first.offset() / subject.line_bytes;
    let outside = |place: &&MatchedMember| place.lines(subject.line_bytes) != (line, line);
    let culprit = places.iter().find(outside)?;
    let expected = match places.len() {
        1 => "within one line".to_owned(),
        _ => format!(
            "all of {} within one line",
            join_names(places.iter().map(|place| &*place.path))
        ),
    };
    Some(group_breach(subject, places, culprit, expected))
}

fn group_breach(
    subject: &RuleSubject<'_>,
    places: &[MatchedMember],
    culprit: &MatchedMember,
    expected: String,
) -> RuleBreach {
    let members: Vec<&MatchedMember> = places.iter().collect();
    RuleBreach {
        between: members_between(subject, places),
        ..subject.breach_of_group(&members, culprit, expected)
    }
}

/// Returns the direct members of the type between the first and the last of `places`, largest
/// first. Members that contain one of `places` are left out.
fn members_between(subject: &RuleSubject<'_>, places: &[MatchedMember]) -> Vec<String> {
    let first = places.iter().map(MatchedMember::end).min().unwrap_or(0);
    let last = places.iter().map(MatchedMember::offset).max().unwrap_or(0);
    let mut found: Vec<MatchedMember> =
        members::direct_members(subject.types, &members::whole_type(subject.id));
    found.retain(|child| {
        child.offset() >= first
            && child.end() <= last
            && !places.iter().any(|place| {
                let rest = place.path.strip_prefix(child.path.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
            })
    });
    found.sort_by_key(|child| (std::cmp::Reverse(child.bytes()), child.offset()));
    found.truncate(BETWEEN_MAX);
    found.into_iter().map(|child| child.path).collect()
}
