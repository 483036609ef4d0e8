//! Memory without a type that the program cuts into equal parts, one for each context.
//!
//! Example: `malloc(4 * STRIDE)`, where each thread starts at `arena + number * STRIDE`. Nothing
//! tells a type. That the contexts begin equally far apart tells the stride.

use std::collections::BTreeMap;

use relayout_profile::{ConflictRow, ContextId};

use crate::finding::{ElementRun, ElementUsers, SharedElements};
use crate::group;

/// Parts that make a regular cut, at least: two distances that are equal.
const PARTS_MIN: usize = 3;
/// A context has a part of its own if it has at least one in this many of the events of the busiest
/// context: the thread that clears the memory has none.
const USER_PART: u64 = 500;
/// Events of a context with a part of its own, at least, however few the busiest has.
const USER_EVENTS_MIN: u64 = 4;

/// Accesses of a context to adjacent lines.
#[derive(Clone, Copy)]
struct ContextExtent {
    start: u64,
    end: u64,
}

/// Returns the cuts of memory in `rows` that make different contexts share lines falsely, most
/// transfers first.
pub(crate) fn hand_cuts(rows: &[&ConflictRow], line_bytes: u64) -> Vec<SharedElements> {
    let mut sorted: Vec<&ConflictRow> = rows.to_vec();
    let line_of = |row: &ConflictRow| (row.run, row.addr.0 / line_bytes.max(1));
    sorted.sort_by_key(|row| line_of(row));
    let is_adjacent = |before: &&ConflictRow, row: &&ConflictRow| {
        let (before, row) = (line_of(before), line_of(row));
        before.0 == row.0 && row.1 - before.1 <= 1
    };
    let mut cuts: Vec<SharedElements> = sorted
        .chunk_by(is_adjacent)
        .filter_map(|rows| hand_cut(rows, line_bytes))
        .collect();
    cuts.sort_by_key(|cut| std::cmp::Reverse(cut.transfers));
    cuts
}

/// Returns the cut of adjacent lines, if their contexts begin equally far apart.
fn hand_cut(rows: &[&ConflictRow], line_bytes: u64) -> Option<SharedElements> {
    let parts = context_extents(rows);
    let [(_, first), (_, second), ..] = parts.as_slice() else {
        return None;
    };
    let stride = second.start - first.start;
    let is_regular = parts
        .windows(2)
        .all(|pair| pair[1].1.start - pair[0].1.start == stride);
    let fits = parts
        .iter()
        .all(|(_, part)| part.end - part.start <= stride);
    let shares_lines = stride > 0 && !stride.is_multiple_of(line_bytes.max(1));
    let is_cut = parts.len() >= PARTS_MIN && is_regular && fits && shares_lines;
    let sum = |count: fn(&ConflictRow) -> u64| {
        { rows.iter() }.fold(0, |sum: u64, row| sum.saturating_add(count(row)))
    };
    let transfers = sum(|row| row.false_lifetime);
    let all_transfers = sum(|row| group::row_tally(row).transfers());
    (is_cut && transfers > all_transfers / 2).then(|| SharedElements {
        stride,
        count: parts.len() as u64,
        transfers,
        users: (0..)
            .zip(&parts)
            .map(|(index, (context, _))| ElementUsers {
                index,
                contexts: vec![*context],
            })
            .collect(),
        runs: (0..)
            .zip(&parts)
            .map(|(index, (context, _))| ElementRun {
                first: index,
                last: index,
                contexts: vec![*context],
            })
            .collect(),
        member: None,
    })
}

/// Returns the memory that each context accesses, by address. The rows are of one run.
fn context_extents(rows: &[&ConflictRow]) -> Vec<(ContextId, ContextExtent)> {
    let mut extents: BTreeMap<ContextId, ContextExtent> = BTreeMap::new();
    let mut add = |context, start: u64, size: u8| {
        let end = start.saturating_add(size.into());
        let extent = { extents.entry(context) }.or_insert(ContextExtent { start, end });
        extent.start = extent.start.min(start);
        extent.end = extent.end.max(end);
    };
    let is_rare = rare_contexts(rows);
    for row in rows {
        for (context, addr, size) in [
            (row.context, row.addr, row.size),
            (row.other_context, row.other_addr, row.other_size),
        ] {
            if !is_rare(context) {
                add(context, addr.0, size);
            }
        }
    }
    let mut parts: Vec<(ContextId, ContextExtent)> = extents.into_iter().collect();
    parts.sort_by_key(|(context, extent)| (extent.start, *context));
    parts
}

/// Returns a test of contexts that take hardly any part in the events.
fn rare_contexts(rows: &[&ConflictRow]) -> impl Fn(ContextId) -> bool + use<> {
    let mut events: BTreeMap<ContextId, u64> = BTreeMap::new();
    for row in rows {
        *events.entry(row.context).or_default() += row.count;
        *events.entry(row.other_context).or_default() += row.count;
    }
    let most = events.values().copied().max().unwrap_or(0);
    move |context| {
        let own = events.get(&context).copied().unwrap_or(0);
        own < USER_EVENTS_MIN || own.saturating_mul(USER_PART) < most
    }
}
