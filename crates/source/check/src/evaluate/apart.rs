//! Rules for members that must not share a cache line, or a pair of lines.

use std::collections::BTreeMap;

use super::words::join_names;
use super::{RuleBreach, RuleSubject};
use crate::members::MatchedMember;

/// Member with the range of stretches (lines, or pairs of lines) that it touches, and the index of
/// its group.
#[derive(Clone, Copy)]
struct TouchedStretch<'p> {
    first: u64,
    last: u64,
    group: usize,
    place: &'p MatchedMember,
}

/// Reports each stretch of `lines` aligned cache lines that contains bytes of two of `groups`.
pub(super) fn judge_apart(
    subject: &RuleSubject<'_>,
    groups: &[Vec<MatchedMember>],
    lines: u64,
) -> Vec<RuleBreach> {
    let stretch_bytes = subject.line_bytes.saturating_mul(lines);
    let shared = shared_stretches(groups, stretch_bytes).into_iter();
    shared
        .filter_map(|(stretch, spans)| {
            let culprit = spans.iter().max_by_key(|span| span.group)?.place;
            let places: Vec<&MatchedMember> = spans.iter().map(|span| span.place).collect();
            let paths = grouped_names(&spans);
            let expected = match lines {
                1 => format!("{paths} on different lines"),
                _ => format!("{paths} on different {stretch_bytes}-byte pairs of lines"),
            };
            let mut breach = subject.breach_of_group(&places, culprit, expected);
            if lines > 1 {
                breach.found = format!("{}: all on pair {stretch}", breach.found);
            }
            Some(breach)
        })
        .collect()
}

/// Names the members, those of a group that has several in brackets: they may share a line with each
/// other. `users and (lock.count, lock.owner)`.
fn grouped_names(spans: &[TouchedStretch<'_>]) -> String {
    let mut groups: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for span in spans {
        groups.entry(span.group).or_default().push(&span.place.path);
    }
    let names = groups.into_values().map(|paths| match &paths[..] {
        [path] => (*path).to_owned(),
        paths => format!("({})", paths.join(", ")),
    });
    let names: Vec<String> = names.collect();
    join_names(names.iter().map(String::as_str))
}

/// Returns the stretches that members of different groups share. Two members that share several
/// stretches appear only for the first stretch.
fn shared_stretches(
    groups: &[Vec<MatchedMember>],
    stretch_bytes: u64,
) -> BTreeMap<u64, Vec<TouchedStretch<'_>>> {
    let mut spans: Vec<TouchedStretch<'_>> = Vec::new();
    for (group, places) in groups.iter().enumerate() {
        for place in places {
            let (first, last) = place.lines(stretch_bytes);
            spans.push(TouchedStretch {
                first,
                last,
                group,
                place,
            });
        }
    }
    spans.sort_by_key(|span| (span.first, span.last));
    let mut shared: BTreeMap<u64, Vec<TouchedStretch<'_>>> = BTreeMap::new();
    let mut reaching: Vec<TouchedStretch<'_>> = Vec::new();
    for span in spans {
        reaching.retain(|earlier| earlier.last >= span.first);
        let met = reaching
            .iter()
            .filter(|earlier| earlier.group != span.group);
        let met: Vec<TouchedStretch<'_>> = met.copied().collect();
        if !met.is_empty() {
            let here = shared.entry(span.first).or_default();
            for touching in met.into_iter().chain([span]) {
                if !here
                    .iter()
                    .any(|listed| listed.place.path == touching.place.path)
                {
                    here.push(touching);
                }
            }
        }
        reaching.push(span);
    }
    shared
}
