//! Sites of requests, and which loads fetch their line for a store behind them.

use alloc::vec::Vec;

use crate::counts::{RequestSiteCounts, RequestedAccessCounts};
use crate::index_table::IndexTable;
use crate::request::LineRequest;
use crate::time::SimulatedTime;

/// Bits of an address that differ.
const ADDRESS_BITS: u32 = 48;

/// Knowledge about a site.
#[derive(Clone, Copy, Default, Debug)]
struct SiteHabit {
    /// Missing loads that a store to the same line followed soon.
    followed: u32,
    /// Missing loads that none followed.
    alone: u32,
    /// The site loads between two pauses that are close to each other.
    is_poll: bool,
}

/// Last load of a CPU that is not yet known to have a store behind it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenLoad {
    line: u32,
    site: u32,
    at: SimulatedTime,
}

/// All sites, numbered in the order of their first request.
#[derive(Clone, Debug)]
pub(crate) struct RequestSites {
    indexes: IndexTable<u32>,
    habits: Vec<SiteHabit>,
    /// Indexes of the counts by site and address.
    accesses: IndexTable<u32>,
}

impl RequestSites {
    pub(crate) fn new() -> Self {
        Self {
            indexes: IndexTable::default(),
            habits: Vec::new(),
            accesses: IndexTable::default(),
        }
    }

    /// Returns the index of a site. A new one is added here and to the counts.
    pub(crate) fn index(&mut self, site: u32, counts: &mut Vec<RequestSiteCounts>) -> u32 {
        let next = self.habits.len() as u32;
        let index = *self.indexes.get_or_insert(u64::from(site), next);
        if index == next {
            self.habits.push(SiteHabit::default());
            counts.push(RequestSiteCounts {
                site,
                ..RequestSiteCounts::default()
            });
        }
        index
    }

    /// Returns the index of a request's counts by site and address. New ones are added to the counts.
    pub(crate) fn access_index(
        &mut self,
        index: u32,
        request: &LineRequest,
        counts: &mut Vec<RequestedAccessCounts>,
    ) -> u32 {
        // The upper bits of an address repeat the last of these.
        let key = u64::from(index) << ADDRESS_BITS | request.address & ((1 << ADDRESS_BITS) - 1);
        let next = counts.len() as u32;
        let index = *self.accesses.get_or_insert(key, next);
        if index == next {
            counts.push(RequestedAccessCounts::new(request));
        }
        index
    }

    /// Returns whether a load of the site fetches its line for a store as well.
    pub(crate) fn loads_for_store(&self, index: u32) -> bool {
        let habit = &self.habits[index as usize];
        habit.followed > habit.alone && !habit.is_poll
    }

    pub(crate) fn note_poll(&mut self, index: u32) {
        self.habits[index as usize].is_poll = true;
    }

    /// Notes an executed load. A load that hits leaves an open one as it is, because the store may still come.
    pub(crate) fn note_load(&mut self, open: &mut Option<OpenLoad>, load: OpenLoad, missed: bool) {
        if !missed && open.is_some() {
            return;
        }
        if let Some(last) = open.replace(load) {
            self.habits[last.site as usize].alone += 1;
        }
    }

    /// Notes an executed store.
    pub(crate) fn note_store(
        &mut self,
        open: &mut Option<OpenLoad>,
        line: u32,
        at: SimulatedTime,
        within_ps: u64,
    ) {
        let Some(load) = open.filter(|load| load.line == line) else {
            return;
        };
        let habit = &mut self.habits[load.site as usize];
        match at < load.at.after(within_ps) {
            true => habit.followed += 1,
            false => habit.alone += 1,
        }
        *open = None;
    }
}

impl OpenLoad {
    pub(crate) fn new(line: u32, site: u32, at: SimulatedTime) -> Self {
        Self { line, site, at }
    }
}
