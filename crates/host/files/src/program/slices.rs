//! Watching in slices: all threads are watched for a short while, and then left alone for a longer
//! one.

use std::sync::atomic::{AtomicBool, Ordering::*};
use std::time::{Duration, Instant};

use relayout_shadow::control::RecordingControl;

/// How long a slice is: several turns of threads that share a CPU, so that what one writes is seen to be used by
/// another.
pub const SLICE_DURATION: Duration = Duration::from_millis(20);

/// Opens and closes slices, a fraction `share` of the time, until `ended`. The time between slices
/// varies by half, so that no rhythm of the program keeps away from them.
pub fn run_slices(control: &RecordingControl, share: f64, seed: u64, ended: &AtomicBool) {
    let pause = SLICE_DURATION.mul_f64((1.0 - share) / share);
    let mut random = seed ^ 0x9e37_79b9_7f4a_7c15;
    while !ended.load(Acquire) {
        control.paused.store(0, Release);
        sleep_until(SLICE_DURATION, ended);
        control.paused.store(1, Release);
        control.pauses.fetch_add(1, Release);
        sleep_until(pause.mul_f64(0.5 + next_fraction(&mut random)), ended);
    }
    control.paused.store(0, Release);
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

/// The next of a sequence of numbers from 0 to below 1 (xorshift64*, Vigna 2014).
fn next_fraction(state: &mut u64) -> f64 {
    *state |= u64::from(*state == 0);
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_vary_evenly() {
        for seed in [0, 1, u64::MAX] {
            let mut state = seed ^ 0x9e37_79b9_7f4a_7c15;
            let fractions: Vec<f64> = (0..10_000).map(|_| next_fraction(&mut state)).collect();
            assert!(fractions.iter().all(|x| (0.0..1.0).contains(x)));
            let mean = fractions.iter().sum::<f64>() / fractions.len() as f64;
            assert!((mean - 0.5).abs() < 0.02, "seed {seed}: {mean}");
        }
    }
}
