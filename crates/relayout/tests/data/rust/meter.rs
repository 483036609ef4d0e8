//! Module of `modules.rs`.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Barrier;

/// Rounds that are counted together. The repaired program counts in a variable of its own first.
const BATCH: u64 = if cfg!(repaired) { 10_000 } else { 1 };

pub(crate) struct Meter {
    pub(crate) read: AtomicU64,
    pub(crate) written: AtomicU64,
    pub(crate) rounds: u64,
}

impl Meter {
    pub(crate) fn count(&self, counter: &AtomicU64, together: &Barrier) {
        for round in 1..=self.rounds {
            if round % 32 == 0 {
                together.wait();
            }
            if round % BATCH == 0 {
                counter.fetch_add(BATCH, Relaxed);
            }
        }
    }
}
