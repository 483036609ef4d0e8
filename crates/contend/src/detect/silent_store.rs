//! Stores that change nothing, yet take the line: checking first would save them.
//!
//! Example: `node->cpu = curr` in osq_lock(), the same value every time. A transfer is put down to
//! a silent store as far as the other side's stores were silent and nothing new was used.

use std::cmp::Reverse;
use std::hash::Hash;

use relayout_profile::{Access, CountRow};
use rustc_hash::FxHashMap;

use super::Context;
use crate::find::{Sources, own_name};
use crate::finding::Kind;
use crate::group::Group;
use crate::identify::Identify;
use crate::remedy::Remedy;
use crate::replay::{Recorded, Tally, replay};

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

/// The store with most silent ones, if replay with a check before it takes fewer transfers, or nothing was
/// logged in order.
pub(super) fn remedy<I: Identify>(
    group: &Group,
    context: &Context,
    sources: &mut Sources<'_, I>,
) -> Option<Remedy> {
    let by_site = stores(group, |row| row.site);
    let most = by_site
        .into_iter()
        .max_by_key(|(site, (_, silent))| (*silent, Reverse(*site)))?;
    let (site, (all, silent)) = most;
    let place = group
        .counts
        .iter()
        .find(|count| count.row.site == site)?
        .place;
    let line = context.line_bytes as u32;
    let replayed = context.replays.of(
        group,
        |_| true,
        |trace| replay(trace, trace.phase(line), &Recorded, line),
        |trace| {
            let checked = trace.with_checks(|access| access.site == site);
            replay(&checked, trace.phase(line), &Recorded, line)
        },
    );
    (silent > 0 && replayed.is_none_or(|replayed| replayed.helps())).then(|| Remedy::CheckStore {
        member: own_name(place),
        source: sources.get(site),
        stores: all,
        silent,
        replayed,
    })
}
