//! Bytes that two threads read and write, counted in a struct of another file.
mod meter;

use meter::Meter;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Barrier};
use std::thread;

fn main() {
    let rounds = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let meter = Arc::new(Meter {
        read: AtomicU64::new(0),
        written: AtomicU64::new(0),
        rounds: rounds.unwrap_or(60_000),
    });
    let together = Arc::new(Barrier::new(2));
    let (shared, other_together) = (meter.clone(), together.clone());
    let reader = thread::spawn(move || {
        shared.count(&shared.read, &other_together);
    });
    meter.count(&meter.written, &together);
    reader.join().unwrap();
    println!("{:?} {:?}", meter.read, meter.written);
}
