//! Cost of one access, by the state of the line for the accessing context.
//!
//! `cargo bench -p relayout-shadow`: nanoseconds per access, median of rounds, one thread. With a
//! word behind `--`, only the cases that it is part of; with `ROUNDS=N`, that many rounds: the
//! difference between the instructions of two such numbers (`valgrind --tool=callgrind`) is what
//! accesses take.

use std::alloc::{Layout, alloc_zeroed};
use std::hint::black_box;
use std::time::Instant;

use relayout_shadow::wire::SegmentHeader;
use relayout_shadow::{AccessKind, CollectorHost, ShadowConfig, ShadowContext, ShadowMemory};

struct DiscardingHost;

impl CollectorHost for DiscardingHost {
    fn zeroed(&self, bytes: usize) -> Option<*mut u8> {
        let layout = Layout::from_size_align(bytes, 4096).ok()?;
        // SAFETY: not empty.
        let at = unsafe { alloc_zeroed(layout) };
        (!at.is_null()).then_some(at)
    }
    fn append(&self, _context: u16, _header: &SegmentHeader, payload: &[u8]) {
        black_box(payload);
    }
    fn relax(&self) {
        std::thread::yield_now();
    }
}

const BASE: u64 = 0xffff_8880_0000_0000;
const ROUNDS: usize = 31;
/// Accesses per round.
const ACCESSES: u64 = 200_000;

/// Accesses `lines` lines in turn by context 0, every `writes_each`-th as a store, after context 1
/// and 0 have fought over them `fights` times.
fn measure(name: &str, lines: u64, writes_each: u64, fights: u32) {
    let wanted = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    if wanted.is_some_and(|wanted| !name.contains(&wanted)) {
        return;
    }
    let rounds = std::env::var("ROUNDS").ok().and_then(|n| n.parse().ok());
    let shadow = ShadowMemory::new(ShadowConfig::new(4), DiscardingHost).expect("memory");
    let mut cpus = [0, 1].map(|n| ShadowContext::new(n, &shadow.host).expect("memory"));
    for _ in 0..fights {
        for line in 0..lines {
            for cpu in &mut cpus {
                shadow.access(cpu, BASE + line * 64, 8, AccessKind::Write, 1, || None);
            }
        }
    }
    let [cpu, _] = &mut cpus;
    let mut rounds: Vec<f64> = (0..rounds.unwrap_or(ROUNDS).max(1))
        .map(|_| {
            let begun = Instant::now();
            for n in 0..ACCESSES {
                let access = if n % writes_each == 0 {
                    AccessKind::Write
                } else {
                    AccessKind::Read
                };
                let addr = BASE + (n * 7 % lines) * 64 + n % 8 * 8;
                shadow.access(black_box(cpu), addr, 8, access, (n % 50) as u32, || None);
            }
            begun.elapsed().as_nanos() as f64 / ACCESSES as f64
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    println!("{name:<34} {:>6.1} ns", rounds[rounds.len() / 2]);
}

fn main() {
    measure("private, 64 lines", 64, 3, 0);
    measure("private, 4096 lines", 4096, 3, 0);
    measure("private, 65536 lines", 65536, 3, 0);
    measure("shared once, 64 lines", 64, 3, 1);
    measure("contended, not logged, 64 lines", 64, 3, 6);
    measure("contended and logged, 64 lines", 64, 3, 20);
}
