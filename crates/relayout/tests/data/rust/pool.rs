//! One thread takes jobs from a queue behind a `Mutex`, another counts beside it how often it polls.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

/// Rounds that are counted together. The repaired program counts in a variable of its own first.
const BATCH: u64 = if cfg!(repaired) { 10_000 } else { 1 };

struct Jobs {
    pending: u64,
    taken: u64,
}

enum Mode {
    Drain(u64),
    Stop,
}

struct Pool {
    mode: Mode,
    jobs: Mutex<Jobs>,
    polls: AtomicU64,
}

impl Pool {
    fn drain(&self, together: &Barrier) {
        let Mode::Drain(rounds) = self.mode else {
            return;
        };
        for round in 1..=rounds {
            pause(round, together);
            if round % BATCH == 0 {
                let mut jobs = self.jobs.lock().unwrap();
                jobs.pending -= BATCH;
                jobs.taken += BATCH;
            }
        }
    }

    fn poll(&self, together: &Barrier) {
        if let Mode::Drain(rounds) = &self.mode {
            for round in 1..=*rounds {
                pause(round, together);
                if round % BATCH == 0 {
                    self.polls.fetch_add(BATCH, Relaxed);
                }
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
    let pending = rounds.unwrap_or(60_000);
    let mode = if pending == 0 {
        Mode::Stop
    } else {
        Mode::Drain(pending)
    };
    let jobs = Mutex::new(Jobs { pending, taken: 0 });
    let pool = Arc::new(Pool {
        mode,
        jobs,
        polls: AtomicU64::new(0),
    });
    let together = Arc::new(Barrier::new(2));
    let (shared, other_together) = (pool.clone(), together.clone());
    let other = thread::spawn(move || {
        shared.drain(&other_together);
    });
    pool.poll(&together);
    other.join().unwrap();
    let pool = Arc::into_inner(pool).unwrap();
    println!(
        "{} {}",
        pool.polls.into_inner(),
        pool.jobs.into_inner().unwrap().taken
    );
}
