//! Threads that are joined one after the other: of what each leaves behind, the standard library's part counts
//! in atomics of its own.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use std::thread;

/// Threads, one after the other.
const THREADS: u32 = 50;

#[derive(Debug, Default)]
struct RoundTally {
    rounds: AtomicU64,
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let rounds = rounds.unwrap_or(60_000) / THREADS;
    let tally = Arc::new(RoundTally::default());
    for _ in 0..THREADS {
        let shared = tally.clone();
        let other = thread::spawn(move || {
            for _ in 0..rounds {
                shared.rounds.fetch_add(1, Relaxed);
            }
        });
        other.join().unwrap();
    }
    println!("{tally:?}");
}
