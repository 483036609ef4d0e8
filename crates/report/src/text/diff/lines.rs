//! Members that came together on a cache line or went apart.

use std::collections::BTreeMap;

use relayout_layout::word_lists::word_series;

use crate::words::counted;
use crate::words::layout_changes::shape_pair::ShapePair;

/// Largest number of neighbours that a sentence names.
const NEIGHBOURS_MAX: usize = 6;

/// Largest number of sentences that are printed for a type.
const CROSSINGS_MAX: usize = 12;

/// Indices of the members that now share a cache line with a member, and of those that no longer
/// do. One sentence names all members with the same change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct LineCrossing {
    together: Vec<usize>,
    apart: Vec<usize>,
}

/// Members that changed lines, and neighbours, in the same way.
struct CrossingGroup {
    members: Vec<usize>,
    crossing: LineCrossing,
    old: (u64, u64),
    new: (u64, u64),
}

/// Sentences such as `c went from line 1 to line 2, now with d, no longer with a and b`.
pub(crate) fn sentences(pair: &ShapePair<'_>, line_bytes: u64) -> Vec<String> {
    let groups = crossing_groups(pair, line_bytes);
    let shown = groups.iter().take(CROSSINGS_MAX);
    let mut lines: Vec<String> = shown.map(|group| group_sentence(pair, group)).collect();
    let rest = groups.iter().skip(CROSSINGS_MAX);
    let rest: usize = rest.map(|group| group.members.len()).sum();
    if rest > 0 {
        let members = counted(rest as u64, "more member");
        lines.push(format!(
            "{members} changed neighbours (--json lists all pairs)"
        ));
    }
    lines
}

fn crossing_groups(pair: &ShapePair<'_>, line_bytes: u64) -> Vec<CrossingGroup> {
    let places = |member: usize| {
        let (old, new) = pair.fields(&pair.detail.members[member])?;
        Some((old.line_range(line_bytes)?, new.line_range(line_bytes)?))
    };
    let moved = |member: usize| places(member).is_some_and(|(old, new)| old != new);
    let mut crossings: BTreeMap<usize, LineCrossing> = BTreeMap::new();
    for change in &pair.detail.pairs {
        // The sentence is about the member that moved to another line, or the first if both moved.
        let (member, other) = if moved(change.first) {
            (change.first, change.second)
        } else {
            (change.second, change.first)
        };
        let crossing = crossings.entry(member).or_default();
        if change.together {
            crossing.together.push(other);
        } else {
            crossing.apart.push(other);
        }
    }
    let mut groups: Vec<CrossingGroup> = Vec::new();
    for (member, crossing) in crossings {
        let Some((old, new)) = places(member) else {
            continue;
        };
        let same = |group: &&mut CrossingGroup| {
            (group.old, group.new) == (old, new) && group.crossing == crossing
        };
        match groups.iter_mut().rev().find(same) {
            Some(group) => group.members.push(member),
            None => groups.push(CrossingGroup {
                members: vec![member],
                crossing,
                old,
                new,
            }),
        }
    }
    groups
}

fn group_sentence(pair: &ShapePair<'_>, group: &CrossingGroup) -> String {
    let names = |members: &[usize]| {
        let names: Vec<&str> = members.iter().map(|at| pair.name(*at)).collect();
        word_series(&names, NEIGHBOURS_MAX)
    };
    let plural = group.members.len() > 1;
    let mut text = format!(
        "{} {}",
        names(&group.members),
        lines_text(group.old, group.new, plural)
    );
    if !group.crossing.together.is_empty() {
        text.push_str(&format!(", now with {}", names(&group.crossing.together)));
    }
    if !group.crossing.apart.is_empty() {
        text.push_str(&format!(
            ", no longer with {}",
            names(&group.crossing.apart)
        ));
    }
    text
}

fn lines_text(before: (u64, u64), after: (u64, u64), plural: bool) -> String {
    let line_range = |(first, last): (u64, u64)| {
        if first == last {
            format!("line {first}")
        } else {
            format!("lines {first} to {last}")
        }
    };
    let (is, was) = if plural {
        ("are", "were")
    } else {
        ("is", "was")
    };
    if before == after {
        format!("{is} on {}", line_range(after))
    } else if before.0 == before.1 && after.0 == after.1 {
        format!("went from {} to {}", line_range(before), line_range(after))
    } else {
        format!(
            "{is} on {}, {was} on {}",
            line_range(after),
            line_range(before)
        )
    }
}
