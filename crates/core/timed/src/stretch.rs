//! Stretch of the recorded order in which the accesses to the same memory were all logged.

use std::collections::BTreeMap;

use relayout_profile::{Addr, RegionRow, RunId, VisitRow};

/// Fraction of the subject's visits in a region, from which on the stretch must lie in the region.
const SUBJECT_SHARE_MIN: f64 = 0.02;
/// Fraction of the subject's stretch that other regions must leave, all together. Regions that would leave less are
/// left out: they began late, as those of clocks do.
const KEPT_SHARE_MIN: f64 = 0.5;
/// Regions that begin at one place at different times, at most.
const REGIONS_AT_MAX: usize = 8;

/// Stretch of a run, and the regions that are complete in it.
pub(crate) struct LoggedStretch<'p> {
    regions: Vec<&'p RegionRow>,
    is_complete: Vec<bool>,
    first: u64,
    end: u64,
}

impl<'p> LoggedStretch<'p> {
    /// Finds the stretch in which all visits to the subject were logged, and those to as much other memory as is
    /// possible without shortening it much. `None` if nothing of the subject was logged.
    pub(crate) fn find(
        regions: &'p [RegionRow],
        visits: &[VisitRow],
        run: RunId,
        is_subject: &dyn Fn(RunId, Addr) -> bool,
    ) -> Option<Self> {
        let regions: Vec<&RegionRow> = regions.iter().filter(|region| region.run == run).collect();
        let mut stretch = Self {
            is_complete: vec![false; regions.len()],
            regions,
            first: 0,
            end: u64::MAX,
        };
        let mut subject: BTreeMap<usize, usize> = BTreeMap::new();
        let mut others: BTreeMap<usize, usize> = BTreeMap::new();
        for visit in visits {
            let Some(region) = stretch.region_of(visit) else {
                continue;
            };
            let counts = match is_subject(run, visit.addr) {
                true => &mut subject,
                false => &mut others,
            };
            *counts.entry(region).or_default() += 1;
        }
        let all: usize = subject.values().sum();
        for (region, count) in subject {
            if count as f64 >= all as f64 * SUBJECT_SHARE_MIN {
                (stretch.first, stretch.end) = stretch.within(region);
                stretch.is_complete[region] = true;
            }
        }
        if !stretch.is_complete.contains(&true) || stretch.first >= stretch.end {
            return None;
        }
        let kept_min = (stretch.end - stretch.first) as f64 * KEPT_SHARE_MIN;
        let mut ranked: Vec<(usize, usize)> = others.into_iter().collect();
        ranked.sort_by_key(|(region, count)| (std::cmp::Reverse(*count), *region));
        for (region, _) in ranked {
            let (first, end) = stretch.within(region);
            if end.saturating_sub(first) as f64 >= kept_min {
                (stretch.first, stretch.end) = (first, end);
                stretch.is_complete[region] = true;
            }
        }
        Some(stretch)
    }

    /// Returns true for a visit of the stretch to memory of which all visits are in it.
    pub(crate) fn has(&self, visit: &VisitRow) -> bool {
        (self.first..self.end).contains(&visit.ticket)
            && self
                .region_of(visit)
                .is_some_and(|region| self.is_complete[region])
    }

    /// Returns the part of the stretch in which a region is complete.
    fn within(&self, region: usize) -> (u64, u64) {
        let region = self.regions[region];
        let end = region.visits_end_ticket.unwrap_or(0);
        (self.first.max(region.first_ticket), self.end.min(end))
    }

    /// Returns the region of a visit. Of several at one place, the one that was logged then.
    fn region_of(&self, visit: &VisitRow) -> Option<usize> {
        let after = self
            .regions
            .partition_point(|region| region.start <= visit.addr);
        let is_in = |region: &RegionRow| {
            visit.addr - region.start < u64::from(region.bytes)
                && (region.first_ticket..region.end_ticket).contains(&visit.ticket)
        };
        let near = (0..after).rev().take(REGIONS_AT_MAX);
        { near }.find(|index| is_in(self.regions[*index]))
    }
}
