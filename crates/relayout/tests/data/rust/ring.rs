//! The ends of a ring in a static variable: one thread moves the head, another the tail.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Barrier;
use std::thread;

/// Rounds that are counted together. The repaired program counts in a variable of its own first.
const BATCH: u64 = if cfg!(repaired) { 10_000 } else { 1 };

#[repr(C, align(64))]
struct Ring {
    head: AtomicU64,
    tail: AtomicU64,
    capacity: AtomicU64,
}

static RING: Ring = Ring {
    head: AtomicU64::new(0),
    tail: AtomicU64::new(0),
    capacity: AtomicU64::new(60_000),
};

fn advance(end: &AtomicU64, together: &Barrier) {
    for round in 1..=RING.capacity.load(Relaxed) {
        if round % 32 == 0 {
            together.wait();
        }
        if round % BATCH == 0 {
            end.fetch_add(BATCH, Relaxed);
        }
    }
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|text| text.parse().ok());
    if let Some(rounds) = rounds {
        RING.capacity.store(rounds, Relaxed);
    }
    let together = Barrier::new(2);
    thread::scope(|scope| {
        scope.spawn(|| advance(&RING.head, &together));
        advance(&RING.tail, &together);
    });
    println!("{:?} {:?}", RING.head, RING.tail);
}
