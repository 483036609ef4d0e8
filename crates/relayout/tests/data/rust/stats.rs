//! Hits and misses of a cache, counted by two threads in a generic struct.
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Barrier};
use std::thread;

/// Rounds that are counted together. The repaired program counts in a variable of its own first.
const BATCH: u64 = if cfg!(repaired) { 10_000 } else { 1 };

#[derive(Debug, Default)]
struct Stats<T> {
    hits: AtomicU64,
    misses: AtomicU64,
    label: T,
    rounds: u64,
}

impl<T: Debug + Default> Stats<T> {
    fn with_label(label: T, rounds: u64) -> Self {
        Stats {
            label,
            rounds,
            ..Default::default()
        }
    }

    fn reset(&mut self) {
        self.hits = AtomicU64::new(0);
        *self.misses.get_mut() = 0;
    }

    fn hit(&self, together: &Barrier) {
        for round in 1..=self.rounds {
            pause(round, together);
            if round % BATCH == 0 {
                self.hits.fetch_add(BATCH, Relaxed);
            }
        }
    }

    fn miss(&self, together: &Barrier) {
        for round in 1..=self.rounds {
            pause(round, together);
            if round % BATCH == 0 {
                self.misses.fetch_add(BATCH, Relaxed);
            }
        }
    }
}

/// Waits for the other thread now and then.
fn pause(round: u64, together: &Barrier) {
    if round % 32 == 0 {
        together.wait();
    }
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let mut stats = Stats::with_label([7_u32; 3], rounds.unwrap_or(60_000));
    stats.reset();
    let stats = Arc::new(stats);
    let together = Arc::new(Barrier::new(2));
    let (shared, other_together) = (stats.clone(), together.clone());
    let other = thread::spawn(move || {
        shared.hit(&other_together);
    });
    stats.miss(&together);
    other.join().unwrap();
    println!("{:?} of {stats:?}", stats.label);
}
