//! Accesses of the recorded order with a clock that moved a cache line from another context.
//!
//! Visits are complete in a region of memory until the region's log was full, so lines begin without a known state in
//! each region, and visits outside of regions are left out. The events are the transfers of [`replay`](mod@crate::replay).

use relayout_profile::{AccessKind, Addr, ContextId, Profile, RegionRow, RunId, VisitRow};
use rustc_hash::FxHashMap;

use crate::find::profile_line_bytes;

/// Regions that begin at one place at different times, at most.
const REGIONS_AT_MAX: usize = 8;

/// An access that waited for cache lines that another context had stored to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineMove<'p> {
    /// The access.
    pub visit: &'p VisitRow,
    /// Number of lines that it moved: 2 if it lies on two and moved both.
    pub lines: u32,
    /// Time of the access in ticks of [`ProfileMeta::clock`](relayout_profile::ProfileMeta::clock) since the first
    /// visit of its run.
    ///
    /// Each context has a clock of its own. A context's first visit is at the latest time that the contexts before it
    /// had reached. Differences of times are exact within a context only.
    pub ticks: u64,
}

impl LineMove<'_> {
    /// Returns true if a store moved the lines.
    pub fn is_store(&self) -> bool {
        self.visit.access != AccessKind::Read
    }
}

/// Returns the accesses of `profile` that moved a line, by run and in recorded order; none without visits.
///
/// ```
/// use relayout_contend::line_moves;
/// use relayout_profile::Profile;
///
/// assert_eq!(line_moves(&Profile::default()), []);
/// ```
pub fn line_moves(profile: &Profile) -> Vec<LineMove<'_>> {
    let line_bytes = u64::from(profile_line_bytes(profile));
    let regions = VisitRegions::new(&profile.regions);
    let mut times = VisitTimes::default();
    let mut lines: FxHashMap<(usize, Addr), LineOwners> = FxHashMap::default();
    let mut moves = Vec::new();
    for visit in &profile.visits {
        let ticks = times.ticks(visit);
        let Some(region) = regions.region_of(visit) else {
            continue;
        };
        let last_byte = Addr(
            visit
                .addr
                .0
                .saturating_add(u64::from(visit.size.max(1) - 1)),
        );
        let (first, last) = (
            visit.addr.align_down(line_bytes),
            last_byte.align_down(line_bytes),
        );
        let touched = [Some(first), Some(last).filter(|last| *last != first)];
        let moved = { touched.into_iter().flatten() }
            .filter(|line| lines.entry((region, *line)).or_default().access(visit))
            .count();
        if moved > 0 {
            moves.push(LineMove {
                visit,
                lines: moved as u32,
                ticks,
            });
        }
    }
    moves
}

/// Contexts with a valid copy of a line, and whether any has stored to it.
#[derive(Default)]
struct LineOwners {
    valid: Vec<ContextId>,
    was_stored: bool,
}

impl LineOwners {
    /// Processes an access, and returns true if the line moved.
    fn access(&mut self, visit: &VisitRow) -> bool {
        let has_copy = self.valid.contains(&visit.context);
        if visit.access != AccessKind::Read {
            self.valid.clear();
            self.valid.push(visit.context);
            let was_stored = std::mem::replace(&mut self.was_stored, true);
            return was_stored && !has_copy;
        }
        if !has_copy {
            self.valid.push(visit.context);
        }
        !has_copy && self.was_stored
    }
}

/// Regions with visits, by run and first byte.
struct VisitRegions<'p> {
    regions: Vec<&'p RegionRow>,
}

impl<'p> VisitRegions<'p> {
    fn new(regions: &'p [RegionRow]) -> Self {
        let mut regions: Vec<&RegionRow> = regions.iter().collect();
        regions.sort_by_key(|region| (region.run, region.start, region.first_ticket));
        Self { regions }
    }

    /// Returns the number of the region whose complete visits include `visit`.
    fn region_of(&self, visit: &VisitRow) -> Option<usize> {
        let key = (visit.run, visit.addr);
        let after = self
            .regions
            .partition_point(|region| (region.run, region.start) <= key);
        let is_in = |region: &RegionRow| {
            let end_ticket = region.visits_end_ticket.unwrap_or(0);
            region.run == visit.run
                && visit.addr - region.start < u64::from(region.bytes)
                && (region.first_ticket..end_ticket).contains(&visit.ticket)
        };
        let near = (0..after).rev().take(REGIONS_AT_MAX);
        { near }.find(|index| is_in(self.regions[*index]))
    }
}

/// Times of visits, on one axis for all contexts of a run.
#[derive(Default)]
struct VisitTimes {
    /// By run: the latest time so far.
    latest: FxHashMap<RunId, u64>,
    /// By run and context: the clock and the time of the first visit.
    first: FxHashMap<(RunId, ContextId), (u64, u64)>,
}

impl VisitTimes {
    fn ticks(&mut self, visit: &VisitRow) -> u64 {
        let latest = self.latest.entry(visit.run).or_default();
        let first =
            { self.first.entry((visit.run, visit.context)) }.or_insert((visit.clock, *latest));
        let ticks = first.1.saturating_add(visit.clock.saturating_sub(first.0));
        *latest = ticks.max(*latest);
        ticks
    }
}
