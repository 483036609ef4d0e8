//! What a reviewer wants to know of a hot type: what moved, who pushed it, and what shares a line
//! because of that.

use relayout_layout::diff::{Cause, Located};

use super::pushed;
use crate::cmd::diff::hot::{HotDiff, HotMove, HotPair};
use crate::cmd::diff::words::{Pair, list, place};

/// Pairs that are said of one type.
const PAIRS_MAX: usize = 24;

/// Hot members of one type whose move is said.
const MOVES_MAX: usize = 8;

/// The sentences about one type, hottest first.
pub(crate) fn sentences(pair: &Pair<'_>, hot: &HotDiff<'_>, line_bytes: u64) -> Vec<String> {
    let mut groups: Vec<Group> = Vec::new();
    for changed in hot
        .pairs
        .iter()
        .filter(|pair| pair.heat > 0)
        .take(PAIRS_MAX)
    {
        let (anchor, other) = anchor(hot, changed);
        let holder = holder(pair, &hot.moves[anchor].member.path);
        let same = |group: &&mut Group| {
            let key = (group.holder, group.anchor, group.together, group.line);
            key == (holder, anchor, changed.together, changed.line)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.others.push(other),
            None => groups.push(Group {
                holder,
                anchor,
                others: vec![other],
                together: changed.together,
                line: changed.line,
            }),
        }
    }
    let mut lines = Vec::new();
    let mut said: Vec<Option<usize>> = Vec::new();
    for group in &groups {
        if said.contains(&group.holder) {
            continue;
        }
        said.push(group.holder);
        let same = groups.iter().filter(|other| other.holder == group.holder);
        let effects: Vec<String> = same
            .map(|group| effect(pair, hot, group, line_bytes))
            .collect();
        lines.push(format!(
            "{}: {}",
            cause(pair, group.holder),
            effects.join("; ")
        ));
    }
    if let Some(phase) = hot.of.phase.filter(|phase| *phase > 0 && !lines.is_empty()) {
        lines.push(format!(
            "objects began {phase} bytes into a line when recorded; lines here are counted from \
             their first byte"
        ));
    }
    lines
}

/// Pairs with one hot member in common, which is in the same member of the type.
struct Group {
    /// The member of the type that moved, as an index in `Detail::members`.
    holder: Option<usize>,
    anchor: usize,
    others: Vec<usize>,
    together: bool,
    line: u64,
}

/// The one of a pair that moved; of two that did the hotter one.
fn anchor(hot: &HotDiff<'_>, pair: &HotPair) -> (usize, usize) {
    let moved = |index: usize| hot.moves[index].old.offset != hot.moves[index].new.offset;
    if moved(pair.first) {
        (pair.first, pair.second)
    } else {
        (pair.second, pair.first)
    }
}

/// The member of the type itself that holds the one at a path.
fn holder(pair: &Pair<'_>, path: &str) -> Option<usize> {
    let members = pair.detail.members.iter();
    members
        .enumerate()
        .filter(|(_, member)| member.old.is_some() && member.new.is_some())
        .filter(|(_, member)| holds(&pair.field(member).path, path))
        .max_by_key(|(_, member)| pair.field(member).path.len())
        .map(|(index, _)| index)
}

/// Whether the member named `outer` is or holds the one at `path`.
pub(crate) fn holds(outer: &str, path: &str) -> bool {
    path.strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// `write_protect_seq pushed mmap_lock from 120 to 128`.
fn cause(pair: &Pair<'_>, holder: Option<usize>) -> String {
    let Some(member) = holder.map(|index| &pair.detail.members[index]) else {
        return "inside".to_owned();
    };
    let Some((old, new)) = pair.fields(member) else {
        return "inside".to_owned();
    };
    let way = format!("from {} to {}", place(old), place(new));
    match member.cause {
        Cause::Pushed(push) => {
            let push = &pair.detail.pushes[pushed::blamed(&pair.detail.pushes, push)];
            let moved = if push.bits < 0 { " moved" } else { "" };
            format!("{} {}{moved} {way}", pushed::pusher(pair, push), new.path)
        }
        Cause::Reordered => format!("{} was moved {way}", new.path),
        _ if old.size != new.size => {
            format!("{} went from {} to {} bytes", new.path, old.size, new.size)
        }
        _ => format!("{} is laid out differently", new.path),
    }
}

/// `count and owner now share line 2`.
fn effect(pair: &Pair<'_>, hot: &HotDiff<'_>, group: &Group, line_bytes: u64) -> String {
    let within = group.holder.map(|index| pair.name(index));
    let all_within = within.is_some_and(|outer| {
        let mut all = group.others.iter().chain([&group.anchor]);
        all.all(|index| {
            let short = &hot.moves[*index].short;
            short.len() > outer.len() && holds(outer, short)
        })
    });
    let name = |index: usize| {
        let short = hot.moves[index].short.as_str();
        match within.filter(|_| all_within) {
            Some(outer) => short[outer.len()..].trim_start_matches('.'),
            None => short,
        }
    };
    let mut indices = group.others.clone();
    indices.push(group.anchor);
    indices.sort_by_key(|index| hot.moves[*index].new.offset);
    if let ([one, other], true) = (indices.as_slice(), group.together) {
        return format!(
            "{} and {} now share line {}",
            name(*one),
            name(*other),
            group.line
        );
    }
    let mut others = group.others.clone();
    others.sort_by_key(|index| hot.moves[*index].new.offset);
    let others: Vec<&str> = others.iter().map(|index| name(*index)).collect();
    let anchor = &hot.moves[group.anchor];
    if group.together {
        let others = list(&others, 6);
        return format!(
            "{} now shares line {} with {others}",
            name(group.anchor),
            group.line
        );
    }
    format!(
        "{} (now on line {}) no longer shares line {} with {}",
        name(group.anchor),
        line(&anchor.new, line_bytes),
        group.line,
        list(&others, 6)
    )
}

fn line(place: &Located, line_bytes: u64) -> u64 {
    place.offset / line_bytes
}

/// Hot members that moved: `mmap_lock.owner 120 -> 128 (line 1 -> 2), 29364 transfers, ...`.
pub(super) fn moves(hot: &HotDiff<'_>, line_bytes: u64) -> Vec<String> {
    let moved = |each: &&HotMove<'_>| each.old.offset != each.new.offset;
    let all: Vec<&HotMove<'_>> = hot.moves.iter().filter(moved).collect();
    let mut lines: Vec<String> = all
        .iter()
        .take(MOVES_MAX)
        .map(|each| {
            let member = each.member;
            let (before, after) = (line(&each.old, line_bytes), line(&each.new, line_bytes));
            let lines = if before == after {
                format!("line {after}")
            } else {
                format!("line {before} -> {after}")
            };
            format!(
                "{} {} -> {} ({lines}), {} transfers, {} reads, {} writes by {} contexts",
                each.short,
                each.old.offset,
                each.new.offset,
                member.transfers,
                member.reads,
                member.writes,
                member.contexts
            )
        })
        .collect();
    if all.len() > MOVES_MAX {
        lines.push(format!("{} more hot members moved", all.len() - MOVES_MAX));
    }
    lines
}
