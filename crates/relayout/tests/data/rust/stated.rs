//! Memory whose type only the functions that allocate it tell: threads access it by plain addresses.
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Barrier, Mutex};
use std::thread;

/// A job with its closure, as of an executor.
struct Job<F> {
    runs: AtomicU64,
    limit: u64,
    run: F,
}

/// A value in the table.
struct Entry {
    hits: u64,
    misses: u64,
}

fn count_at(address: usize) {
    let counter = address as *const AtomicU64;
    // SAFETY: the address is of a u64 that lives as long as the threads.
    unsafe { (*counter).fetch_add(1, Relaxed) };
}

fn read_at(address: usize) {
    // SAFETY: as above.
    unsafe { std::ptr::read_volatile(address as *const u64) };
}

type Step = Box<dyn Fn(u64) -> u64 + Send + Sync>;

fn main() {
    let rounds: u64 = std::env::args().nth(1).map_or(1000, |word| word.parse().expect("a number"));
    let step = rounds % 7;
    let job = Box::new(Job { runs: AtomicU64::new(0), limit: rounds, run: move |n: u64| n + step });
    let mut entries: HashMap<u64, Entry> = HashMap::new();
    for key in 0..24 {
        entries.insert(key, Entry { hits: 0, misses: key });
    }
    let job_at = &raw const job.runs as usize;
    let entry_at = &raw const entries[&3].hits as usize;
    let step_at: Step = Box::new(move |n| n + step);
    let slot: Box<Option<Step>> = Box::new(Some(step_at));
    let slot_at = &raw const *slot as usize + size_of::<usize>();
    let together = Barrier::new(2);
    let sums = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for round in 0..rounds {
                    if round % 32 == 0 {
                        together.wait();
                    }
                    count_at(job_at);
                    count_at(entry_at);
                    read_at(slot_at);
                }
                *sums.lock().expect("no thread panics") += 1;
            });
        }
    });
    let entry = &entries[&3];
    let stepped = slot.as_ref().as_ref().map_or(0, |step| step(1));
    let made = (job.run)(job.runs.load(Relaxed)) + stepped + job.limit + entry.hits + entry.misses;
    println!("{made} {}", sums.into_inner().expect("no thread panics"));
}
