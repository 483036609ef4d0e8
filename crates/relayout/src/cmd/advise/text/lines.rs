//! Which accessed members a layout takes from each other's line, and which it brings together.
//!
//! Judged at the object with the most accesses: others may begin elsewhere on a line.

use std::collections::BTreeMap;

use relayout_layout::abi::Place;
use relayout_profile::Access;
use relayout_search::{Advice, Scored};

use super::super::TypeAdvice;

/// Sentences at most.
const SENTENCES_MAX: usize = 3;
/// Members named at most in each list.
const NAMES_MAX: usize = 4;

/// Members named at most in a comment.
const REASON_NAMES: usize = 3;

/// Accesses to the same bytes.
struct Use<'a> {
    name: &'a str,
    written: bool,
    count: u64,
    line_today: u64,
    line_then: u64,
}

/// `'base_addr' leaves the line of 'free_bytes' (written)`, those with the most accesses first.
pub fn sentences(
    one: &TypeAdvice<'_>,
    advice: &Advice,
    scored: &Scored,
    line_bytes: u32,
) -> Vec<String> {
    let uses = uses(one, advice, scored, line_bytes);
    let mut groups: BTreeMap<u64, BTreeMap<u64, Vec<&Use<'_>>>> = BTreeMap::new();
    for one in &uses {
        let parts = groups.entry(one.line_today).or_default();
        parts.entry(one.line_then).or_default().push(one);
    }
    let mut found: Vec<(u64, String)> = Vec::new();
    for parts in groups.values() {
        if !parts.values().flatten().any(|one| one.written) {
            continue;
        }
        let count = |part: &[&Use<'_>]| part.iter().map(|one| one.count).sum::<u64>();
        let mut parts: Vec<(&u64, &Vec<&Use<'_>>)> = parts.iter().collect();
        parts.sort_by_key(|(_, part)| std::cmp::Reverse(count(part)));
        let Some(((_, stays), leave)) = parts.split_first() else {
            continue;
        };
        for (line, part) in leave {
            // A member on two lines does not join itself.
            let moves = |name: &str| part.iter().any(|one| one.name == name);
            let others = uses.iter().filter(|one| {
                one.line_then == **line && one.line_today != part[0].line_today && !moves(one.name)
            });
            let others: Vec<&Use<'_>> = others.collect();
            found.extend(sentence(part, stays, &others).map(|words| (count(part), words)));
        }
    }
    found.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let more = found.len().saturating_sub(SENTENCES_MAX);
    let mut sentences: Vec<String> = (found.into_iter().take(SENTENCES_MAX))
        .map(|(_, words)| words)
        .collect();
    if more > 0 {
        sentences.push(format!("{more} more such changes of line"));
    }
    sentences
}

/// Why the atom called `name` stands where it does then, as a comment in the source would say it:
/// whom it has parted from. `None` where that is nobody, or where neither side is written.
pub fn reason(
    one: &TypeAdvice<'_>,
    advice: &Advice,
    scored: &Scored,
    line_bytes: u32,
    name: &str,
) -> Option<String> {
    let uses = uses(one, advice, scored, line_bytes);
    let own = || uses.iter().filter(|one| one.name == name);
    let parted = |other: &&Use<'_>| {
        let from =
            |own: &Use<'_>| own.line_today == other.line_today && own.line_then != other.line_then;
        other.name != name && own().any(from)
    };
    let others = |written: bool| {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for other in uses.iter().filter(parted) {
            if other.written || !written {
                *counts.entry(other.name).or_default() += other.count;
            }
        }
        let mut ranked: Vec<(&str, u64)> = counts.into_iter().collect();
        ranked.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let names: Vec<&str> = ranked
            .iter()
            .map(|(name, _)| *name)
            .take(REASON_NAMES)
            .collect();
        names
    };
    let written = others(true);
    if let Some((last, first)) = written.split_last() {
        let verb = if first.is_empty() { "is" } else { "are" };
        let list = list(first, last);
        return Some(format!(
            "Kept off the cache line of {list}, which {verb} written."
        ));
    }
    let read = others(false);
    let (last, first) = read.split_last().filter(|_| own().any(|one| one.written))?;
    let list = list(first, last);
    Some(format!("Written: kept off the cache line of {list}."))
}

fn list(first: &[&str], last: &str) -> String {
    match first {
        [] => last.to_owned(),
        first => format!("{} and {last}", first.join(", ")),
    }
}

fn sentence(part: &[&Use<'_>], stays: &[&Use<'_>], others: &[&Use<'_>]) -> Option<String> {
    // A member that is on both lines has not left.
    let on_both = |one: &&&Use<'_>| !stays.iter().any(|other| other.name == one.name);
    let gone: Vec<&Use<'_>> = part.iter().filter(on_both).copied().collect();
    if gone.is_empty() {
        return None;
    }
    let (verb, joins) = match names(&gone).1 {
        1 => ("leaves", "joins"),
        _ => ("leave", "join"),
    };
    let mut text = format!("{} {verb} the line of {}", names(&gone).0, names(stays).0);
    if !others.is_empty() {
        text.push_str(&format!(" and {joins} that of {}", names(others).0));
    }
    Some(text)
}

/// The members, most accessed first, and how many they are.
fn names(uses: &[&Use<'_>]) -> (String, usize) {
    let mut by_name: BTreeMap<&str, (u64, bool)> = BTreeMap::new();
    for one in uses {
        let sum = by_name.entry(one.name).or_default();
        *sum = (sum.0 + one.count, sum.1 || one.written);
    }
    let mut ranked: Vec<(&str, (u64, bool))> = by_name.into_iter().collect();
    ranked.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    let count = ranked.len();
    let mut shown: Vec<String> = (ranked.iter().take(NAMES_MAX))
        .map(|(name, (_, written))| match written {
            true => format!("'{name}' (written)"),
            false => format!("'{name}'"),
        })
        .collect();
    if count > NAMES_MAX {
        shown.push(format!("{} more", count - NAMES_MAX));
    }
    (shown.join(", "), count)
}

fn uses<'a>(
    one: &'a TypeAdvice<'_>,
    advice: &Advice,
    scored: &Scored,
    line_bytes: u32,
) -> Vec<Use<'a>> {
    let line_bytes = u64::from(line_bytes.max(1));
    let mut counts: BTreeMap<u32, (u64, bool)> = BTreeMap::new();
    for access in one.instances.iter().flat_map(|one| &one.trace.accesses) {
        let sum = counts.entry(access.offset).or_default();
        *sum = (sum.0 + 1, sum.1 || access.access != Access::Read);
    }
    let (today, then) = (&advice.current, scored);
    let line = |offset: u64, phase: u32| (offset + u64::from(phase)) / line_bytes;
    let uses = counts.into_iter().filter_map(|(offset, (count, written))| {
        let offset = u64::from(offset);
        let holds = |place: &Place| place.offset <= offset && offset < place.end;
        let atom = today.layout.places.iter().position(holds)?;
        let place = |scored: &Scored| scored.layout.places[atom].offset;
        let moved = offset - place(today) + place(then);
        Some(Use {
            name: &one.shape.atoms[atom].name,
            written,
            count,
            line_today: line(offset, today.phase),
            line_then: line(moved, then.phase),
        })
    });
    uses.collect()
}
