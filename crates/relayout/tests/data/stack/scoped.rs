//! Threads of a scope count up elements of an array, and atomics, on the stack of the caller.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Barrier;
use std::thread;

// The threads wait for each other, so that they take turns on a busy machine, too.
static TOGETHER_TWO: Barrier = Barrier::new(2);
static TOGETHER_FOUR: Barrier = Barrier::new(4);

#[cfg(repaired)]
#[repr(align(64))]
struct Own<T>(T);
#[cfg(not(repaired))]
type Own<T> = T;
#[cfg(repaired)]
macro_rules! value { ($own:expr) => { $own.0 }; }
#[cfg(not(repaired))]
macro_rules! value { ($own:expr) => { $own }; }
#[cfg(repaired)]
macro_rules! own { ($value:expr) => { Own($value) }; }
#[cfg(not(repaired))]
macro_rules! own { ($value:expr) => { $value }; }

fn count(number: &AtomicU64, rounds: u64, together: &Barrier) {
    for round in 0..rounds {
        if round % 8 == 0 {
            together.wait();
        }
        number.fetch_add(1, Relaxed);
    }
}

#[inline(never)]
fn add_up(rounds: u64) -> u64 {
    let sums: [Own<AtomicU64>; 4] = std::array::from_fn(|_| own!(AtomicU64::new(0)));
    thread::scope(|scope| {
        for sum in &sums {
            scope.spawn(move || count(&value!(sum), rounds, &TOGETHER_FOUR));
        }
    });
    sums.iter().map(|sum| value!(sum).load(Relaxed)).sum()
}

fn main() {
    let rounds = std::env::args().nth(1).map_or(20000, |rounds| rounds.parse().unwrap());
    let hits: Own<AtomicU64> = own!(AtomicU64::new(0));
    let misses: Own<AtomicU64> = own!(AtomicU64::new(0));
    thread::scope(|scope| {
        scope.spawn(|| count(&value!(hits), rounds, &TOGETHER_TWO));
        scope.spawn(|| count(&value!(misses), rounds, &TOGETHER_TWO));
    });
    let all = value!(hits).load(Relaxed) + value!(misses).load(Relaxed);
    assert_eq!(all + add_up(rounds), 6 * rounds);
}
