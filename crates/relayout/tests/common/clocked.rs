//! An order with a clock for profiles that have none.

use std::collections::BTreeSet;
use std::path::Path;

use relayout_profile::{
    Addr, ClockUnit, CoherenceEvent, ConflictRow, RegionRow, RunId, VisitRow, WriteOptions,
};

/// Size of the regions that are logged, in bytes.
const REGION_BYTES: u32 = 512;
/// Ticks from an access of a context to its next.
const TICKS: u64 = 30;

/// Adds visits to the profile at `path`: for each transfer, the access of the other side and the one that missed.
pub fn add_visits(path: &Path) {
    let mut profile = relayout_profile::read(path).unwrap();
    let rows = { profile.conflicts.iter() }.filter(|row| row.transfer != CoherenceEvent::Upgrade);
    let accesses = rows.flat_map(|row| (0..row.count).flat_map(|_| sides(row)));
    let visits: Vec<VisitRow> = (0..)
        .zip(accesses)
        .map(|(ticket, visit)| VisitRow {
            ticket,
            clock: 1_000 + ticket * TICKS,
            ..visit
        })
        .collect();
    let end_ticket = (visits.len() + profile.bursts.len()) as u64;
    let starts: BTreeSet<(RunId, Addr)> = { visits.iter() }
        .map(|visit| (visit.run, visit.addr.align_down(REGION_BYTES.into())))
        .collect();
    let region = |(run, start)| RegionRow {
        run,
        start,
        bytes: REGION_BYTES,
        first_ticket: 0,
        end_ticket,
        first_op: 0,
        end_op: 0,
        visits_end_ticket: Some(visits.len() as u64),
    };
    profile.regions = starts.into_iter().map(region).collect();
    profile.visits = visits;
    profile.meta.clock = Some(ClockUnit::Instructions);
    std::fs::remove_dir_all(path).unwrap();
    relayout_profile::write(path, &profile, &WriteOptions::default()).unwrap();
}

/// Returns the access of the other side, and the one that missed.
fn sides(row: &ConflictRow) -> [VisitRow; 2] {
    let here = VisitRow {
        run: row.run,
        ticket: 0,
        context: row.context,
        clock: 0,
        operation: 0,
        site: row.site,
        addr: row.addr,
        size: row.size,
        access: row.access,
        locked: false,
        compare_exchange: false,
        string: false,
        stored: None,
    };
    let there = VisitRow {
        context: row.other_context,
        site: row.other_site,
        addr: row.other_addr,
        size: row.other_size,
        access: row.other_access,
        ..here
    };
    [there, here]
}
