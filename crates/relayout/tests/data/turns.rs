//! As `turns.c`: two threads use one struct in turns.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Barrier};
use std::thread;

const TURNS: u64 = 400;

/// Counters of a server
#[repr(C)]
struct Stats {
    /// served so far
    hits: AtomicU64,
    limit: AtomicU64,
    table: [u64; 10],
    misses: AtomicU64,
}

fn main() {
    let stats = Arc::new(Stats {
        hits: 0.into(),
        limit: 3.into(),
        table: [0; 10],
        misses: 0.into(),
    });
    let both = Arc::new(Barrier::new(2));
    let (shared, turn) = (stats.clone(), both.clone());
    let other = thread::spawn(move || {
        for _ in 0..TURNS {
            shared.hits.fetch_add(1, Relaxed);
            turn.wait();
            turn.wait();
        }
    });
    for _ in 0..TURNS {
        both.wait();
        stats.misses.fetch_add(stats.limit.load(Relaxed), Relaxed);
        both.wait();
    }
    other.join().unwrap();
    println!("{} {}", stats.misses.load(Relaxed), stats.table[1]);
}
