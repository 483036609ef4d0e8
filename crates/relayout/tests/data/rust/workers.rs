//! Each of four threads counts in its own element of a `Vec`.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Barrier;
use std::thread;

/// Rounds that are counted together. The repaired program counts in a variable of its own first.
const BATCH: u64 = if cfg!(repaired) { 10_000 } else { 1 };

struct Worker {
    done: AtomicU64,
    failed: AtomicU64,
}

impl Worker {
    fn work(&self, rounds: u64, together: &Barrier) {
        for round in 1..=rounds {
            if round % 32 == 0 {
                together.wait();
            }
            if round % BATCH == 0 {
                self.done.fetch_add(BATCH, Relaxed);
                self.failed.store(round / 1000, Relaxed);
            }
        }
    }
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let rounds = rounds.unwrap_or(60_000);
    let mut workers = Vec::with_capacity(4);
    workers.resize_with(4, || Worker {
        done: AtomicU64::new(0),
        failed: AtomicU64::new(0),
    });
    let together = Barrier::new(4);
    thread::scope(|scope| {
        for worker in &workers {
            let together = &together;
            scope.spawn(move || {
                worker.work(rounds, together);
            });
        }
    });
    let done: u64 = workers.iter().map(|worker| worker.done.load(Relaxed)).sum();
    println!("{done}");
}
