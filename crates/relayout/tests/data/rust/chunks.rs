//! Each of four threads counts in a run of neighbouring elements of a boxed slice.
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::Barrier;
use std::thread;

/// Elements of a run: whole lines in the repaired program.
const RUN: usize = if cfg!(repaired) { 32 } else { 25 };

/// Cells that begin at a line in the repaired program.
#[cfg_attr(repaired, repr(align(64)))]
struct Cells([AtomicU32; 4 * RUN]);

fn work(run: &[AtomicU32], rounds: usize, together: &Barrier) {
    for round in 0..rounds / RUN {
        if round % 32 == 0 {
            together.wait();
        }
        for cell in run {
            cell.fetch_add(1, Relaxed);
        }
    }
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let rounds = rounds.unwrap_or(60_000);
    let cells = Box::new(Cells([const { AtomicU32::new(0) }; 4 * RUN]));
    let together = Barrier::new(4);
    thread::scope(|scope| {
        for run in cells.0.chunks(RUN) {
            let together = &together;
            scope.spawn(move || work(run, rounds, together));
        }
    });
    let sum: u32 = cells.0.iter().map(|cell| cell.load(Relaxed)).sum();
    println!("{sum}");
}
