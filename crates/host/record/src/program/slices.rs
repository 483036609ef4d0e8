//! Watching in slices: all threads are watched for a short while, and then left alone for a longer
//! one.

use std::sync::atomic::{AtomicBool, Ordering::*};
use std::time::{Duration, Instant};

use relayout_statistics::random::XorShift64Star;

use super::processes::ProcessTable;

/// Length of a slice: several turns of threads that share a CPU, so that a thread uses in the slice
/// what another wrote in it.
pub const SLICE_DURATION: Duration = Duration::from_millis(20);

/// Opens and closes slices, a fraction `share` of the time, until `ended`. The first begins when a
/// process begins to be recorded. The time between slices varies by half, so that no rhythm of the
/// program keeps away from them.
pub fn run_slices(processes: &ProcessTable<'_>, share: f64, seed: u64, ended: &AtomicBool) {
    let pause = SLICE_DURATION.mul_f64((1.0 - share) / share);
    let mut random = XorShift64Star::new(seed);
    while !processes.has_first() && !ended.load(Acquire) {
        std::thread::sleep(Duration::from_millis(1));
    }
    while !ended.load(Acquire) {
        processes.set_paused(false);
        sleep_until(SLICE_DURATION, ended);
        processes.set_paused(true);
        sleep_until(pause.mul_f64(0.5 + random.unit()), ended);
    }
    processes.set_paused(false);
}

/// Sleeps, but not long after `ended`.
fn sleep_until(time: Duration, ended: &AtomicBool) {
    let start = Instant::now();
    while !ended.load(Acquire) {
        match time.checked_sub(start.elapsed()) {
            Some(left) if !left.is_zero() => std::thread::sleep(left.min(SLICE_DURATION)),
            _ => return,
        }
    }
}
