//! Transfers that hardware reported, beside the estimates.

use relayout_profile::{Addr, Profile, RunId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::group::LineGroup;

/// Transfers reported by samples, by run and line; `None` if the hardware does not report them.
pub(crate) struct ObservedHitm(Option<FxHashMap<(RunId, Addr), u64>>);

impl ObservedHitm {
    pub fn new(profile: &Profile) -> Self {
        let mut lines: FxHashMap<(RunId, Addr), u64> = FxHashMap::default();
        for row in &profile.lines {
            let told = row.read_transfers.saturating_add(row.write_transfers);
            let sum = lines.entry((row.run, row.line)).or_default();
            *sum = sum.saturating_add(told);
        }
        Self(profile.meta.hitm_seen.then_some(lines))
    }

    pub fn total(&self) -> Option<u64> {
        let lines = self.0.as_ref()?.values();
        Some(lines.fold(0, |sum, told| sum.saturating_add(*told)))
    }

    /// Returns the transfers on the lines of a group's events.
    pub fn on_lines_of(&self, group: &LineGroup) -> Option<u64> {
        let told = self.0.as_ref()?;
        let line = |addr: Addr| addr - addr % group.line_bytes;
        let lines: FxHashSet<_> = group
            .conflicts
            .iter()
            .map(|c| (c.row.run, line(c.row.addr)))
            .collect();
        let told = lines.iter().filter_map(|line| told.get(line));
        Some(told.fold(0, |sum, told| sum.saturating_add(*told)))
    }
}
