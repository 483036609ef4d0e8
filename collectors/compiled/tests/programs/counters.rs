//! Two threads of a Rust program that count on one line, and push to a list behind a mutex.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[repr(C, align(64))]
struct Counters {
    own: [AtomicU64; 2],
    list: Mutex<Vec<u64>>,
}

fn work(shared: &Counters, which: usize) {
    for n in 0..50_000u64 {
        // On a busy machine, one thread could be done before the other begins.
        while n < 100 && shared.own[1 - which].load(Relaxed) < n {
            std::thread::yield_now();
        }
        shared.own[which].fetch_add(1, Relaxed);
        if n % 64 == 0 {
            shared.list.lock().unwrap().push(n);
        }
    }
}

fn main() {
    let shared: &'static Counters = Box::leak(Box::new(Counters {
        own: [AtomicU64::new(0), AtomicU64::new(0)],
        list: Mutex::new(Vec::new()),
    }));
    let threads = [0, 1].map(|which| std::thread::spawn(move || work(shared, which)));
    for thread in threads {
        thread.join().unwrap();
    }
    let sum: u64 = shared.own.iter().map(|own| own.load(Relaxed)).sum();
    println!("shared {shared:p}\nsum {sum}\nlist {}", shared.list.lock().unwrap().len());
}
