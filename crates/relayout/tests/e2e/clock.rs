//! Visits of contended lines have the instructions of their CPU, and the number of its operation.

use std::collections::BTreeMap;

use relayout_profile::{ClockUnit, ContextId, Profile, VisitRow};

use crate::stand::Stand;

const SOURCE: &str = include_str!("clock.c");
const MARKER_DIR: &str = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../../collectors/guest");

/// Instructions by which the long operations are longer: two for each turn of the loop.
const MORE: f64 = 400_000.0;

#[test]
fn visits_count_the_instructions_between_them() {
    let stand = Stand::new();
    let flags = ["-O1", "-static", "-pthread", MARKER_DIR];
    stand.place.compile("clock", SOURCE, &flags);
    let [short, long] = [50_000, 250_000].map(|turns| {
        stand.record(&format!("--force --run clock --run-arg {turns} --cpus 2"));
        let profile = relayout_profile::read(&stand.place.path("out")).unwrap();
        check_visits(&profile);
        median_operation(&profile)
    });
    let more = long - short;
    assert!((more - MORE).abs() < 0.02 * MORE, "{short} and {long}");
}

fn check_visits(profile: &Profile) {
    assert_eq!(profile.meta.clock, Some(ClockUnit::Instructions));
    let visits = &profile.visits;
    assert!(visits.len() > 1000, "{}", visits.len());
    let locked = visits.iter().filter(|visit| visit.locked).count();
    let exchanges = visits.iter().filter(|visit| visit.compare_exchange).count();
    assert!(exchanges > 0 && locked > exchanges && locked < visits.len());
    check_exchanges(visits);
    let mut last = BTreeMap::new();
    for visit in visits {
        let before = last.insert(visit.context, (visit.operation, visit.clock));
        assert!(
            before <= Some((visit.operation, visit.clock)),
            "time goes on: {visit:?}"
        );
    }
    let complete =
        |region: &relayout_profile::RegionRow| region.visits_end_ticket == Some(region.end_ticket);
    assert!(profile.regions.iter().any(complete));
}

/// QEMU 10 tells what a compare-and-exchange found, so all visits that are one say whether it
/// stored. Most did, and none of the others has the field.
fn check_exchanges(visits: &[VisitRow]) {
    let (exchanges, others): (Vec<&VisitRow>, Vec<&VisitRow>) =
        visits.iter().partition(|visit| visit.compare_exchange);
    assert!(others.iter().all(|visit| visit.stored.is_none()));
    let known = exchanges
        .iter()
        .filter(|visit| visit.stored.is_some())
        .count();
    let stored = exchanges
        .iter()
        .filter(|visit| visit.stored == Some(true))
        .count();
    assert_eq!(known, exchanges.len());
    assert!(stored * 2 > known, "{stored} of {known}");
}

/// Instructions from the first visit of an operation to the first visit of the next one of its CPU.
fn median_operation(profile: &Profile) -> f64 {
    let mut begun: BTreeMap<ContextId, (u32, u64)> = BTreeMap::new();
    let mut lengths = Vec::new();
    for visit in &profile.visits {
        let now = (visit.operation, visit.clock);
        let (operation, clock) = *begun.entry(visit.context).or_insert(now);
        if visit.operation != operation {
            begun.insert(visit.context, now);
        }
        if visit.operation == operation + 1 {
            lengths.push(visit.clock - clock);
        }
    }
    lengths.sort_unstable();
    assert!(lengths.len() > 100, "{}", lengths.len());
    lengths[lengths.len() / 2] as f64
}
