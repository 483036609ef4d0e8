//! Words about recordings in simulated time.

use relayout_profile::{RecordedRun, SimulatedMachineName};

use crate::documents::time_shares::TimeShares;

/// Returns whose latencies gave the accesses their order, and what was left out.
pub(crate) fn simulated_machine_words(machine: &SimulatedMachineName) -> String {
    let rules = match machine.rules.is_empty() {
        true => String::new(),
        false => format!(" with {}", machine.rules_text()),
    };
    format!(
        "simulated: line latencies of {} ({}, {}){rules}; no core, no caches' size",
        machine.processor, machine.key, machine.placement
    )
}

/// Least share in percent that is told.
const SHARE_MIN: f64 = 0.1;

/// Returns what CPUs did with their time: `executing 46.1%, waiting for loads 32.0%, idle 21.9%`.
pub(crate) fn time_shares_words(time: &TimeShares) -> String {
    let shares = [
        ("executing", time.running_percent),
        ("waiting for loads", time.load_percent),
        ("for atomics", time.atomic_percent),
        ("for own stores", time.stores_percent),
        ("pausing", time.pause_percent),
        ("idle", time.idle_percent),
    ];
    let shares: Vec<String> = { shares.iter() }
        .filter(|(_, share)| *share >= SHARE_MIN)
        .map(|(name, share)| format!("{name} {share:.1}%"))
        .collect();
    shares.join(", ")
}

/// Returns the simulated time of all runs, with the rate of their operations; `None` for recordings in
/// the host's order.
pub(crate) fn simulated_time_words(runs: &[RecordedRun]) -> Option<String> {
    let windows: Option<Vec<u64>> = { runs.iter() }
        .map(|run| run.simulated.as_ref().map(|order| order.window_ns))
        .collect();
    let window_ns: u64 = windows.filter(|windows| !windows.is_empty())?.iter().sum();
    let operations: u64 = runs.iter().map(|run| run.operations).sum();
    let time = format!("{:.2} ms of simulated time", window_ns as f64 / 1e6);
    Some(match operations {
        0 => time,
        _ => {
            let rate = operations as f64 / (window_ns.max(1) as f64 / 1e9);
            format!("{time}: {rate:.0} operations a second, simulated")
        }
    })
}
