//! Stores that change nothing, yet take the line: checking first would save them.
//!
//! Example: `node->cpu = curr` in osq_lock(), the same value every time. A transfer is put down to
//! a silent store as far as the other side's stores were silent and nothing new was used. A finding is called
//! by them where they are most of it; the check is advised wherever replay says that it saves a tenth.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::hash::Hash;

use relayout_profile::{Access, CountRow};
use rustc_hash::FxHashMap;

use super::Context;
use super::replays::{self, Part};
use crate::find::{Sources, own_name};
use crate::finding::Kind;
use crate::group::Group;
use crate::identify::{Identify, Place};
use crate::remedy::{OwnLine, Remedy, Replayed};
use crate::replay::{ObjectTrace, Recorded, Tally, replay};

pub(super) fn detect(group: &Group, tally: &Tally, _: &Context) -> Option<Kind> {
    let stores = stores(group, |row| (row.run, row.addr, row.site));
    let caused: f64 = group
        .conflicts
        .iter()
        .filter_map(|conflict| {
            let row = conflict.row;
            let &(all, silent) = stores.get(&(row.run, row.other_addr, row.other_site))?;
            (all > 0).then(|| row.false_lifetime as f64 * silent as f64 / all as f64)
        })
        .sum();
    super::most(caused as u64, tally.transfers()).then_some(Kind::SilentStore)
}

/// Stores whose silence is known, and the silent ones among them.
fn stores<'a, K: Eq + Hash>(
    group: &Group<'a>,
    key: impl Fn(&'a CountRow) -> K,
) -> FxHashMap<K, (u64, u64)> {
    let mut stores: FxHashMap<K, (u64, u64)> = FxHashMap::default();
    for count in &group.counts {
        if let (Access::Write | Access::ReadWrite, Some(silent)) =
            (count.row.access, count.row.silent)
        {
            let all = stores.entry(key(count.row)).or_default();
            all.0 += count.row.count;
            all.1 += silent;
        }
    }
    stores
}

/// Silent stores are asked about if there is one for so many of the line's transfers at least.
const ASKED_PART: u64 = 20;

/// The member with most silent stores, if a check before them takes fewer transfers in replay, with the member
/// where it is or on a line of its own; of a finding that is called by them, also if nothing was logged in order.
pub(super) fn remedy<I: Identify>(
    group: &Group,
    kind: Kind,
    tally: &Tally,
    context: &Context,
    sources: &mut Sources<'_, I>,
) -> Option<Remedy> {
    let by_site = stores(group, |row| row.site);
    let mostly =
        |&(_, &(all, silent)): &(&u32, &(u64, u64))| silent > 0 && silent.saturating_mul(2) >= all;
    let most = by_site
        .iter()
        .filter(mostly)
        .max_by_key(|(site, (_, silent))| (*silent, Reverse(**site)))?;
    let (&site, &(all, silent)) = most;
    if silent.saturating_mul(ASKED_PART) < tally.transfers() {
        return None;
    }
    let (place, members) = stored_by(group, site)?;
    let ways = replayed(group, context, site, place);
    // Where the member lies, or on a line of its own.
    let helps = |[today, checked, apart, both]: [u64; 4]| {
        Replayed::from([today, checked]).helps() || Replayed::from([apart, both]).helps()
    };
    let told = match ways {
        Some(ways) => helps(ways),
        None => kind == Kind::SilentStore,
    };
    told.then(|| Remedy::CheckStore {
        member: own_name(place),
        members,
        source: sources.get(site),
        stores: all,
        silent,
        replayed: ways.map(|[today, changed, ..]| Replayed { today, changed }),
        own_line: ways
            .filter(|_| matches!(place, Place::Member { .. }))
            .map(|[_, _, stored, checked]| OwnLine { stored, checked }),
    })
}

/// What an instruction stores to: the member with most transfers, and how many there are.
fn stored_by<'a>(group: &Group<'a>, site: u32) -> Option<(&'a Place, u64)> {
    let missed = |name: &str| -> u64 {
        let conflicts = group.conflicts.iter();
        let of_it = conflicts.filter(|conflict| own_name(conflict.here) == name);
        of_it
            .map(|conflict| crate::group::tally(conflict.row).transfers())
            .sum()
    };
    let counts = group.counts.iter().filter(|count| count.row.site == site);
    let places: BTreeMap<String, &Place> = counts
        .map(|count| (own_name(count.place), count.place))
        .collect();
    let members = places.len() as u64;
    let most = places
        .into_iter()
        .rev()
        .max_by_key(|(name, _)| missed(name));
    most.map(|(_, place)| (place, members))
}

/// Transfers as it is, with a check before the store, with what is stored to on a line of its own, and with both.
fn replayed(group: &Group, context: &Context, site: u32, place: &Place) -> Option<[u64; 4]> {
    let line = context.line_bytes as u32;
    let member = match place {
        Place::Member { member, .. } => member.offset..member.offset.saturating_add(member.size),
        _ => 0..0,
    };
    let as_it_lies = |trace: &ObjectTrace| replay(trace, trace.phase(line), &Recorded, line);
    let on_its_own = |trace: &ObjectTrace| {
        let leaves = |offset: u32| member.contains(&u64::from(offset));
        let apart = replays::apart(trace, line, leaves);
        replay(trace, trace.phase(line), &apart, line)
    };
    let checked = |trace: &ObjectTrace| trace.with_checks(|access| access.site == site);
    context.replays.of(
        group,
        Part::Lines,
        [
            &as_it_lies,
            &|trace| as_it_lies(&checked(trace)),
            &on_its_own,
            &|trace| on_its_own(&checked(trace)),
        ],
    )
}
