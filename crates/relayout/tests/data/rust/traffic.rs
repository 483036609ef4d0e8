//! One thread counts what is received, another what is sent, in one struct behind an `Arc`.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Barrier};
use std::thread;

/// Rounds that are counted together. The repaired program counts in a variable of its own first.
const BATCH: u64 = if cfg!(repaired) { 10_000 } else { 1 };

struct Traffic {
    received: AtomicU64,
    sent: AtomicU64,
    /// Read by both.
    limit: u64,
}

impl Traffic {
    fn new(limit: u64) -> Self {
        let received = AtomicU64::new(0);
        Self {
            received,
            sent: AtomicU64::new(0),
            limit,
        }
    }
}

/// Counts up to the limit; the threads wait for each other now and then.
fn count(counter: &AtomicU64, limit: u64, together: &Barrier) {
    for round in 1..=limit {
        if round % 32 == 0 {
            together.wait();
        }
        if round % BATCH == 0 {
            counter.fetch_add(BATCH, Relaxed);
        }
    }
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let traffic = Arc::new(Traffic::new(rounds.unwrap_or(60_000)));
    let together = Arc::new(Barrier::new(2));
    let (shared, other) = (traffic.clone(), together.clone());
    let receiver = thread::spawn(move || count(&shared.received, shared.limit, &other));
    count(&traffic.sent, traffic.limit, &together);
    receiver.join().unwrap();
    println!("{:?} {:?}", traffic.received, traffic.sent);
}
