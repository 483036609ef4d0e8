//! Stores that change nothing, yet invalidate the other copies of the line: a guard would save
//! them.
//!
//! Example: `node->cpu = curr` in osq_lock(), the same value every time. A transfer is due to a
//! silent store as far as the other side's stores were silent and nothing new was used. A finding
//! has this kind if most of its transfers are due to silent stores. The guard is advised wherever
//! it saves a tenth of the transfers in replay.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::hash::Hash;

use relayout_profile::{AccessKind, CountRow, SiteId};
use rustc_hash::FxHashMap;

use super::DetectContext;
use super::group_replays::{self, ReplayedPart};
use crate::finding::FindingKind;
use crate::group::LineGroup;
use crate::identify::{AccessTarget, AddressNamer};
use crate::names::target_name;
use crate::remedy::{OwnLineTransfers, Remedy, ReplayComparison};
use crate::replay::{CoherenceTally, ObjectTrace, RecordedPlacement, replay};
use crate::source_cache::SourceCache;

pub(super) fn detect(
    group: &LineGroup,
    tally: &CoherenceTally,
    _: &DetectContext,
) -> Option<FindingKind> {
    let stores = silence_by_key(group, |row| (row.run, row.addr, row.site));
    let caused: f64 = group
        .conflicts
        .iter()
        .filter_map(|conflict| {
            let row = conflict.row;
            let &(all, silent) = stores.get(&(row.run, row.other_addr, row.other_site))?;
            (all > 0).then(|| row.false_lifetime as f64 * silent as f64 / all as f64)
        })
        .sum();
    super::is_majority(caused as u64, tally.transfers()).then_some(FindingKind::SilentStore)
}

/// Counts stores of known silence, and the silent ones among them, by `key`.
fn silence_by_key<'a, K: Eq + Hash>(
    group: &LineGroup<'a>,
    key: impl Fn(&'a CountRow) -> K,
) -> FxHashMap<K, (u64, u64)> {
    let mut stores: FxHashMap<K, (u64, u64)> = FxHashMap::default();
    for count in &group.counts {
        if let (AccessKind::Write | AccessKind::ReadWrite, Some(silent)) =
            (count.row.access, count.row.silent)
        {
            let all = stores.entry(key(count.row)).or_default();
            all.0 += count.row.count;
            all.1 += silent;
        }
    }
    stores
}

/// Guards are tried if silent stores are at least one in this many of the line's transfers.
const ASKED_PART: u64 = 20;

/// Advises to guard the member with most silent stores, if a guard has fewer transfers in replay,
/// with the member where it is or on a line of its own. A finding of this kind gets the advice also
/// if nothing was logged in order.
pub(super) fn remedy<I: AddressNamer>(
    group: &LineGroup,
    kind: FindingKind,
    tally: &CoherenceTally,
    context: &DetectContext,
    sources: &mut SourceCache<'_, I>,
) -> Option<Remedy> {
    let by_site = silence_by_key(group, |row| row.site);
    let mostly = |&(_, &(all, silent)): &(&SiteId, &(u64, u64))| {
        silent > 0 && silent.saturating_mul(2) >= all
    };
    let most = by_site
        .iter()
        .filter(mostly)
        .max_by_key(|(site, (_, silent))| (*silent, Reverse(**site)))?;
    let (&site, &(all, silent)) = most;
    if silent.saturating_mul(ASKED_PART) < tally.transfers() {
        return None;
    }
    let (place, member_count) = stored_target(group, site)?;
    let replayed_ways = replay_guarded(group, context, site, place);
    // The member stays where it is, or gets a line of its own.
    let helps = |[today, checked, apart, both]: [u64; 4]| {
        ReplayComparison::from([today, checked]).helps()
            || ReplayComparison::from([apart, both]).helps()
    };
    let advised = match replayed_ways {
        Some(ways) => helps(ways),
        None => kind == FindingKind::SilentStore,
    };
    advised.then(|| Remedy::GuardStore {
        member: target_name(place),
        members: member_count,
        source: sources.get(site),
        stores: all,
        silent,
        replayed: replayed_ways.map(|[today, changed, ..]| ReplayComparison { today, changed }),
        own_line: replayed_ways
            .filter(|_| matches!(place, AccessTarget::Member { .. }))
            .map(|[_, _, stored, checked]| OwnLineTransfers {
                stored,
                guarded: checked,
            }),
    })
}

/// Returns the targets of a store instruction: the member with most transfers, and the number of
/// members.
fn stored_target<'a>(group: &LineGroup<'a>, site: SiteId) -> Option<(&'a AccessTarget, u64)> {
    let missed = |name: &str| -> u64 {
        let conflicts = group.conflicts.iter();
        let of_member = conflicts.filter(|conflict| target_name(conflict.here) == name);
        of_member
            .map(|conflict| crate::group::row_tally(conflict.row).transfers())
            .sum()
    };
    let counts = group.counts.iter().filter(|count| count.row.site == site);
    let places: BTreeMap<String, &AccessTarget> = counts
        .map(|count| (target_name(count.target), count.target))
        .collect();
    let members = places.len() as u64;
    let most = places
        .into_iter()
        .rev()
        .max_by_key(|(name, _)| missed(name));
    most.map(|(_, place)| (place, members))
}

/// Returns the transfers as recorded, with a guard before the store, with the stored member on a
/// line of its own, and with both.
fn replay_guarded(
    group: &LineGroup,
    context: &DetectContext,
    site: SiteId,
    place: &AccessTarget,
) -> Option<[u64; 4]> {
    let line = context.line_bytes as u32;
    let member = match place {
        AccessTarget::Member { member, .. } => {
            member.offset..member.offset.saturating_add(member.size)
        }
        _ => 0..0,
    };
    let in_place = |trace: &ObjectTrace| replay(trace, trace.phase(line), &RecordedPlacement, line);
    let on_own_line = |trace: &ObjectTrace| {
        let moves_apart = |offset: u32| member.contains(&u64::from(offset));
        let apart = group_replays::place_apart(trace, line, moves_apart);
        replay(trace, trace.phase(line), &apart, line)
    };
    let guarded = |trace: &ObjectTrace| trace.with_store_guards(|access| access.site == site);
    context.replays.transfers_by_way(
        group,
        ReplayedPart::Lines,
        [
            &in_place,
            &|trace| in_place(&guarded(trace)),
            &on_own_line,
            &|trace| on_own_line(&guarded(trace)),
        ],
    )
}
