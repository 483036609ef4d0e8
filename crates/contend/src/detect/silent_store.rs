//! Stores that change nothing, yet take the line: checking first would save them.
//!
//! Example: `node->cpu = curr` in osq_lock(), the same value every time. A transfer is put down to
//! a silent store as far as the other side's stores were silent and nothing new was used.

use relayout_profile::Access;
use rustc_hash::FxHashMap;

use super::Context;
use crate::finding::Kind;
use crate::group::Group;
use crate::replay::Tally;

pub(super) fn detect(group: &Group, tally: &Tally, _: &Context) -> Option<Kind> {
    // By run, address and site: stores, and the silent ones among them.
    let mut stores: FxHashMap<(u16, u64, u32), (u64, u64)> = FxHashMap::default();
    for count in &group.counts {
        if let (Access::Write | Access::ReadWrite, Some(silent)) =
            (count.row.access, count.row.silent)
        {
            let all = stores
                .entry((count.row.run, count.row.addr, count.row.site))
                .or_default();
            all.0 += count.row.count;
            all.1 += silent;
        }
    }
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
