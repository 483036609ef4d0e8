//! The workload `locks`, whose checks must notice a lock that does not keep others out.

use crate::stand::Stand;

const LOCKS: [&str; 7] = [
    "mutex",
    "ticket",
    "mapping",
    "pipe",
    "append",
    "descriptor",
    "barrier",
];
/// Seeds that are tried at most.
const SEEDS: u32 = 4;
const SIMULATED: &str = "--machine sapphire-rapids-2s --simulate 1ms --rates --json";

/// Words of a recording of the workload, in which one lock is used wrongly.
fn broken(lock: &str) -> String {
    format!("record kernel --memory 512M --cpus 4 --workload locks --append relayout.broken={lock}")
}

/// A lock that is used wrongly lets two threads in by chance: one of a few seeds must show it.
#[track_caller]
fn check_violation(stand: &Stand, lock: &str, words: &str) {
    let expect = format!("the guest failed: {lock}: ");
    let mut last = None;
    for seed in 1..=SEEDS {
        let ended = stand.run(&format!("{words} --seed {seed}"));
        stand.check_clean();
        if ended.code == Some(4) && ended.stderr.contains(&expect) {
            return;
        }
        assert_eq!(ended.code, Some(0), "{lock}: {ended:?}");
        last = Some(ended);
    }
    panic!("{lock}: {last:?}");
}

#[test]
fn locks_that_hold_are_recorded() {
    let stand = Stand::new();
    stand.record("--memory 512M --cpus 4 --workload locks --iterations 2000");
    let report = stand.report();
    assert_eq!(report["runs"][0]["operations"], 8000, "{}", report["runs"]);
}

#[test]
fn each_broken_lock_is_noticed() {
    let stand = Stand::new();
    for lock in LOCKS {
        check_violation(&stand, lock, &format!("{} --force -o out", broken(lock)));
    }
    let words = broken("nothing");
    let ended = stand.run(&format!("{words} --force -o out"));
    assert!(ended.stderr.contains("no lock named nothing"), "{ended:?}");
}

/// A window in simulated time ends by its length: a violation at its end still has to be told.
#[test]
fn broken_locks_are_noticed_in_simulated_time() {
    let mut stand = Stand::new();
    stand.keep_snapshots();
    for lock in ["descriptor", "barrier"] {
        check_violation(&stand, lock, &format!("{} {SIMULATED}", broken(lock)));
    }
}

#[test]
fn locks_hold_in_simulated_time() {
    let mut stand = Stand::new();
    stand.keep_snapshots();
    let words = "record kernel --memory 512M --cpus 4 --workload locks";
    let rates = stand.json(&format!("{words} {SIMULATED}"));
    let by_cpu = rates["operations_by_cpu"].as_array().unwrap();
    assert_eq!(by_cpu.len(), 4, "{rates}");
    assert!(by_cpu.iter().all(|n| n.as_u64() > Some(20)), "{by_cpu:?}");
    assert_eq!(rates["order"]["order_breaks"], 0, "{rates}");
}
