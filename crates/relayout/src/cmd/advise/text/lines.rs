//! Which accessed members a layout takes from each other's line, and which it brings together.
//!
//! Judged at the object with the most accesses: others may begin elsewhere on a line.

use std::collections::BTreeMap;

use relayout_layout::abi::AtomPlace;
use relayout_profile::AccessKind;
use relayout_search::{LayoutAdvice, ScoredLayout};

use super::super::TypeAdvice;

/// Sentences at most.
const LINE_SENTENCES_MAX: usize = 3;
/// Members named at most in each list.
const NAMES_MAX: usize = 4;

/// Members named at most in a comment.
const REASON_NAMES: usize = 3;

/// Accesses to the same bytes.
struct OffsetUse<'a> {
    name: &'a str,
    written: bool,
    count: u64,
    line_today: u64,
    line_then: u64,
}

/// `'base_addr' leaves the line of 'free_bytes' (written)`, those with the most accesses first.
pub fn line_sentences(
    type_advice: &TypeAdvice<'_>,
    advice: &LayoutAdvice,
    scored: &ScoredLayout,
    line_bytes: u32,
) -> Vec<String> {
    let uses = line_uses(type_advice, advice, scored, line_bytes);
    let mut groups: BTreeMap<u64, BTreeMap<u64, Vec<&OffsetUse<'_>>>> = BTreeMap::new();
    for line_use in &uses {
        let parts = groups.entry(line_use.line_today).or_default();
        parts.entry(line_use.line_then).or_default().push(line_use);
    }
    let mut counted_sentences: Vec<(u64, String)> = Vec::new();
    for parts in groups.values() {
        if !parts.values().flatten().any(|line_use| line_use.written) {
            continue;
        }
        let accesses =
            |part: &[&OffsetUse<'_>]| part.iter().map(|line_use| line_use.count).sum::<u64>();
        let mut parts: Vec<(&u64, &Vec<&OffsetUse<'_>>)> = parts.iter().collect();
        parts.sort_by_key(|(_, part)| std::cmp::Reverse(accesses(part)));
        let Some(((_, stays), leave)) = parts.split_first() else {
            continue;
        };
        for (line, part) in leave {
            // A member on two lines does not join itself.
            let is_moved = |name: &str| part.iter().any(|line_use| line_use.name == name);
            let joined = uses.iter().filter(|line_use| {
                line_use.line_then == **line
                    && line_use.line_today != part[0].line_today
                    && !is_moved(line_use.name)
            });
            let joined: Vec<&OffsetUse<'_>> = joined.collect();
            counted_sentences
                .extend(move_sentence(part, stays, &joined).map(|words| (accesses(part), words)));
        }
    }
    counted_sentences.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let more = counted_sentences.len().saturating_sub(LINE_SENTENCES_MAX);
    let mut sentences: Vec<String> = (counted_sentences.into_iter().take(LINE_SENTENCES_MAX))
        .map(|(_, words)| words)
        .collect();
    if more > 0 {
        sentences.push(format!("{more} more such changes of line"));
    }
    sentences
}

/// Why the atom called `name` stands where it does then, as a comment in the source would say it:
/// whom it has parted from. `None` where that is nobody, or where neither side is written.
pub fn placement_reason(
    type_advice: &TypeAdvice<'_>,
    advice: &LayoutAdvice,
    scored: &ScoredLayout,
    line_bytes: u32,
    name: &str,
) -> Option<String> {
    let uses = line_uses(type_advice, advice, scored, line_bytes);
    let own_uses = || uses.iter().filter(|line_use| line_use.name == name);
    let has_parted = |other: &&OffsetUse<'_>| {
        let is_parted_from = |own: &OffsetUse<'_>| {
            own.line_today == other.line_today && own.line_then != other.line_then
        };
        other.name != name && own_uses().any(is_parted_from)
    };
    let parted_names = |written: bool| {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for other in uses.iter().filter(has_parted) {
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
    let written_names = parted_names(true);
    if let Some((last, first)) = written_names.split_last() {
        let verb = if first.is_empty() { "is" } else { "are" };
        let names = join_names(first, last);
        return Some(format!(
            "Kept off the cache line of {names}, which {verb} written."
        ));
    }
    let read_names = parted_names(false);
    let (last, first) = read_names
        .split_last()
        .filter(|_| own_uses().any(|line_use| line_use.written))?;
    let names = join_names(first, last);
    Some(format!("Written: kept off the cache line of {names}."))
}

fn join_names(first: &[&str], last: &str) -> String {
    match first {
        [] => last.to_owned(),
        first => format!("{} and {last}", first.join(", ")),
    }
}

fn move_sentence(
    leaving: &[&OffsetUse<'_>],
    staying: &[&OffsetUse<'_>],
    joined: &[&OffsetUse<'_>],
) -> Option<String> {
    // A member that is on both lines has not left.
    let has_left =
        |line_use: &&&OffsetUse<'_>| !staying.iter().any(|other| other.name == line_use.name);
    let left: Vec<&OffsetUse<'_>> = leaving.iter().filter(has_left).copied().collect();
    if left.is_empty() {
        return None;
    }
    let (verb, joins) = match ranked_names(&left).1 {
        1 => ("leaves", "joins"),
        _ => ("leave", "join"),
    };
    let mut text = format!(
        "{} {verb} the line of {}",
        ranked_names(&left).0,
        ranked_names(staying).0
    );
    if !joined.is_empty() {
        text.push_str(&format!(" and {joins} that of {}", ranked_names(joined).0));
    }
    Some(text)
}

/// The members, most accessed first, and how many they are.
fn ranked_names(uses: &[&OffsetUse<'_>]) -> (String, usize) {
    let mut by_name: BTreeMap<&str, (u64, bool)> = BTreeMap::new();
    for line_use in uses {
        let sum = by_name.entry(line_use.name).or_default();
        *sum = (sum.0 + line_use.count, sum.1 || line_use.written);
    }
    let mut ranked: Vec<(&str, (u64, bool))> = by_name.into_iter().collect();
    ranked.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    let count = ranked.len();
    let mut shown_names: Vec<String> = (ranked.iter().take(NAMES_MAX))
        .map(|(name, (_, written))| match written {
            true => format!("'{name}' (written)"),
            false => format!("'{name}'"),
        })
        .collect();
    if count > NAMES_MAX {
        shown_names.push(format!("{} more", count - NAMES_MAX));
    }
    (shown_names.join(", "), count)
}

fn line_uses<'a>(
    type_advice: &'a TypeAdvice<'_>,
    advice: &LayoutAdvice,
    scored: &ScoredLayout,
    line_bytes: u32,
) -> Vec<OffsetUse<'a>> {
    let line_bytes = u64::from(line_bytes.max(1));
    let mut counts: BTreeMap<u32, (u64, bool)> = BTreeMap::new();
    for access in type_advice
        .instances
        .iter()
        .flat_map(|instance| &instance.trace.accesses)
    {
        let sum = counts.entry(access.offset).or_default();
        *sum = (sum.0 + 1, sum.1 || access.access != AccessKind::Read);
    }
    let (today, then) = (&advice.current, scored);
    let line = |offset: u64, phase: u32| (offset + u64::from(phase)) / line_bytes;
    let uses = counts.into_iter().filter_map(|(offset, (count, written))| {
        let offset = u64::from(offset);
        let holds = |place: &AtomPlace| place.offset <= offset && offset < place.end;
        let atom = today.layout.places.iter().position(holds)?;
        let place = |scored: &ScoredLayout| scored.layout.places[atom].offset;
        let moved = offset - place(today) + place(then);
        Some(OffsetUse {
            name: &type_advice.shape.atoms[atom].name,
            written,
            count,
            line_today: line(offset, today.phase),
            line_then: line(moved, then.phase),
        })
    });
    uses.collect()
}
