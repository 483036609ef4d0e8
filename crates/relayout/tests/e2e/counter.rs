//! Counts of events by line are those of a second plugin, written from the definitions alone, that
//! runs in the same guest.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use relayout_testkit::require_programs;

use crate::stand::Stand;

/// Events of a kind on a line that are compared: of few events, each that the two plugins saw in
/// another order weighs much.
const EVENTS_MIN: u64 = 50;
/// Difference that is allowed for the median.
const DIFFERENCE_MAX: f64 = 0.02;
const KINDS: [&str; 4] = ["first reads", "later reads", "write transfers", "upgrades"];

/// By address of the line: events, in the order of [`KINDS`].
type LineEvents = BTreeMap<u64, [u64; 4]>;

#[test]
fn counts_are_those_of_a_second_plugin() {
    require_programs(&["cc"]);
    let stand = Stand::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/counter.c");
    let plugin = stand.place.path("libcounter.so");
    let compiled = Command::new("cc")
        .args(["-O2", "-shared", "-fPIC", "-o"])
        .args([&plugin, &source])
        .status();
    assert!(compiled.unwrap().success());
    for workload in ["mntns", "mmap1", "tlb"] {
        let counted = stand.place.path(workload);
        stand.record(&format!(
            "--force --workload {workload} -- -plugin {},out={}",
            plugin.display(),
            counted.display()
        ));
        compare(
            workload,
            &recorded(&stand.place.path("out")),
            &read_counted(&counted),
        );
    }
}

#[track_caller]
fn compare(workload: &str, recorded: &LineEvents, counted: &LineEvents) {
    for (n, kind) in KINDS.iter().enumerate() {
        let mut differences: Vec<f64> = counted
            .iter()
            .map(|(line, events)| (events[n], recorded.get(line).map_or(0, |events| events[n])))
            .filter(|&(there, here)| there.max(here) >= EVENTS_MIN)
            .map(|(there, here)| there.abs_diff(here) as f64 / there.max(here) as f64)
            .collect();
        let sum = |lines: &LineEvents| lines.values().map(|events| events[n]).sum::<u64>();
        differences.sort_by(f64::total_cmp);
        let lines = differences.len();
        let said = format!(
            "{workload}, {kind}: {} recorded, {} counted, {lines} lines, median difference {:?}, \
             largest {:?}",
            sum(recorded),
            sum(counted),
            differences.get(lines / 2),
            differences.last()
        );
        println!("{said}");
        assert!(lines >= 10, "{said}");
        assert!(differences[lines / 2] <= DIFFERENCE_MAX, "{said}");
    }
}

fn recorded(profile: &Path) -> LineEvents {
    let mut lines = LineEvents::new();
    for row in relayout_profile::read(profile).unwrap().lines {
        let first = row.first_reads.expect("told apart");
        let later = row.read_transfers - first;
        let events = lines.entry(row.line.0).or_default();
        let own = [first, later, row.write_transfers, row.upgrades];
        for (sum, own) in events.iter_mut().zip(own) {
            *sum += own;
        }
    }
    lines
}

fn read_counted(file: &Path) -> LineEvents {
    let text = fs::read_to_string(file).unwrap();
    text.lines()
        .map(|line| {
            let (address, events) = line.split_once(' ').unwrap();
            let events: Vec<u64> = events.split(' ').map(|n| n.parse().unwrap()).collect();
            let address = u64::from_str_radix(address, 16).unwrap();
            (address, events.try_into().unwrap())
        })
        .collect()
}
