//! Accessed members that a layout takes off each other's cache line, or brings together.
//!
//! Lines are those of the object with the most accesses: other objects may begin elsewhere on a
//! line.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use relayout_layout::abi::AtomPlace;
use relayout_layout::word_lists::word_series;
use relayout_profile::AccessKind;
use relayout_search::{LayoutAdvice, ScoredLayout};

use super::gathered::GatheredType;

/// Members listed at most in the comment of an edit.
const REASON_NAMES_MAX: usize = 3;

/// Members that leave a cache line together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineChange {
    /// Accesses to the members of the group.
    pub accesses: u64,
    /// Members that leave.
    pub leaving: Vec<NamedUses>,
    /// Members that stay.
    pub staying: Vec<NamedUses>,
    /// Members of the line that they join, from other lines.
    pub joined: Vec<NamedUses>,
}

/// Accesses to a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedUses {
    /// Member.
    pub name: String,
    /// True if it was stored to.
    pub is_written: bool,
    /// Number of accesses.
    pub count: u64,
}

/// Accesses to the same bytes.
struct OffsetUse<'a> {
    name: &'a str,
    is_written: bool,
    count: u64,
    line_today: u64,
    line_then: u64,
}

/// Returns the groups of members that a layout takes off written cache lines, most accesses first.
pub fn line_changes(
    gathered: &GatheredType<'_>,
    advice: &LayoutAdvice,
    scored: &ScoredLayout,
    line_bytes: u32,
) -> Vec<LineChange> {
    let uses = line_uses(gathered, advice, scored, line_bytes);
    let mut groups: BTreeMap<u64, BTreeMap<u64, Vec<&OffsetUse<'_>>>> = BTreeMap::new();
    for line_use in &uses {
        let parts = groups.entry(line_use.line_today).or_default();
        let part = parts.entry(line_use.line_then).or_default();
        part.push(line_use);
    }
    let mut changes: Vec<LineChange> = Vec::new();
    for parts in groups.values() {
        if !parts.values().flatten().any(|line_use| line_use.is_written) {
            continue;
        }
        let mut parts: Vec<(&u64, &Vec<&OffsetUse<'_>>)> = parts.iter().collect();
        parts.sort_by_key(|(_, part)| Reverse(accesses(part)));
        let Some(((_, staying), leaving)) = parts.split_first() else {
            continue;
        };
        for (line, part) in leaving {
            changes.extend(line_change(**line, part, staying, &uses));
        }
    }
    changes.sort_by_key(|change| Reverse(change.accesses));
    changes
}

fn accesses(part: &[&OffsetUse<'_>]) -> u64 {
    part.iter().map(|line_use| line_use.count).sum()
}

/// Returns the change of the members `part`, which move to `line`; `None` if they only lie on two
/// lines.
fn line_change(
    line: u64,
    part: &[&OffsetUse<'_>],
    staying: &[&OffsetUse<'_>],
    uses: &[OffsetUse<'_>],
) -> Option<LineChange> {
    // A member on two lines does not join itself, and one on both lines has not left.
    let is_moved = |name: &str| part.iter().any(|line_use| line_use.name == name);
    let stays = |name: &str| staying.iter().any(|line_use| line_use.name == name);
    let joined = uses.iter().filter(|line_use| {
        line_use.line_then == line
            && line_use.line_today != part[0].line_today
            && !is_moved(line_use.name)
    });
    let leaving = part.iter().copied();
    let leaving = ranked_uses(leaving.filter(|line_use| !stays(line_use.name)));
    (!leaving.is_empty()).then(|| LineChange {
        accesses: accesses(part),
        leaving,
        staying: ranked_uses(staying.iter().copied()),
        joined: ranked_uses(joined),
    })
}

/// Returns the members, most accesses first.
fn ranked_uses<'u>(uses: impl Iterator<Item = &'u OffsetUse<'u>>) -> Vec<NamedUses> {
    let mut by_name: BTreeMap<&str, (u64, bool)> = BTreeMap::new();
    for line_use in uses {
        let sum = by_name.entry(line_use.name).or_default();
        *sum = (sum.0 + line_use.count, sum.1 || line_use.is_written);
    }
    let mut ranked: Vec<NamedUses> = by_name
        .into_iter()
        .map(|(name, (count, is_written))| NamedUses {
            name: name.to_owned(),
            is_written,
            count,
        })
        .collect();
    ranked.sort_by_key(|uses| Reverse(uses.count));
    ranked
}

/// Returns the comment for the atom called `name`, with the members whose cache line it leaves;
/// `None` if it leaves no line, or if nobody writes.
pub fn placement_reason(
    gathered: &GatheredType<'_>,
    advice: &LayoutAdvice,
    scored: &ScoredLayout,
    line_bytes: u32,
    name: &str,
) -> Option<String> {
    let uses = line_uses(gathered, advice, scored, line_bytes);
    let own_uses = || uses.iter().filter(|line_use| line_use.name == name);
    let has_parted = |other: &&OffsetUse<'_>| {
        let is_parted_from = |own: &OffsetUse<'_>| {
            own.line_today == other.line_today && own.line_then != other.line_then
        };
        other.name != name && own_uses().any(is_parted_from)
    };
    let parted_names = |only_written: bool| {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for other in uses.iter().filter(has_parted) {
            if other.is_written || !only_written {
                *counts.entry(other.name).or_default() += other.count;
            }
        }
        let mut ranked: Vec<(&str, u64)> = counts.into_iter().collect();
        ranked.sort_by_key(|(_, count)| Reverse(*count));
        ranked
            .iter()
            .map(|(name, _)| *name)
            .take(REASON_NAMES_MAX)
            .collect::<Vec<&str>>()
    };
    let written_names = parted_names(true);
    if !written_names.is_empty() {
        let verb = if written_names.len() == 1 {
            "is"
        } else {
            "are"
        };
        let names = word_series(&written_names, usize::MAX);
        return Some(format!(
            "Kept off the cache line of {names}, which {verb} written."
        ));
    }
    let read_names = parted_names(false);
    if read_names.is_empty() || !own_uses().any(|line_use| line_use.is_written) {
        return None;
    }
    let names = word_series(&read_names, usize::MAX);
    Some(format!("Written: kept off the cache line of {names}."))
}

fn line_uses<'a>(
    gathered: &'a GatheredType<'_>,
    advice: &LayoutAdvice,
    scored: &ScoredLayout,
    line_bytes: u32,
) -> Vec<OffsetUse<'a>> {
    let line_bytes = u64::from(line_bytes.max(1));
    let instances = gathered.instances.iter();
    let mut counts: BTreeMap<u32, (u64, bool)> = BTreeMap::new();
    for access in instances.flat_map(|instance| &instance.trace.accesses) {
        let sum = counts.entry(access.offset).or_default();
        *sum = (sum.0 + 1, sum.1 || access.access != AccessKind::Read);
    }
    let (today, then) = (&advice.current, scored);
    let line = |offset: u64, phase: u32| (offset + u64::from(phase)) / line_bytes;
    let uses = counts
        .into_iter()
        .filter_map(|(offset, (count, is_written))| {
            let offset = u64::from(offset);
            let holds = |place: &AtomPlace| place.offset <= offset && offset < place.end;
            let atom = today.layout.places.iter().position(holds)?;
            let place = |scored: &ScoredLayout| scored.layout.places[atom].offset;
            let moved = offset - place(today) + place(then);
            Some(OffsetUse {
                name: &gathered.shape.atoms[atom].name,
                is_written,
                count,
                line_today: line(offset, today.phase),
                line_then: line(moved, then.phase),
            })
        });
    uses.collect()
}
