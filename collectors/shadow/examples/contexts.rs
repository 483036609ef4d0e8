//! Memory and time of the shadow by the number of contexts, which one thread plays in turns of 256
//! accesses.
//!
//! `cargo run --release -p relayout-shadow --example contexts`

use std::alloc::{Layout, alloc_zeroed};
use std::hint::black_box;
use std::time::Instant;

use relayout_shadow::wire::SegmentHeader;
use relayout_shadow::{AccessKind, CollectorHost, ShadowConfig, ShadowContext, ShadowMemory};

struct DiscardingHost;

impl CollectorHost for DiscardingHost {
    fn zeroed(&self, bytes: usize) -> Option<*mut u8> {
        // More alignment than any allocation has would make the allocator write all of it.
        let layout = Layout::from_size_align(bytes + PAGE, 16).ok()?;
        // SAFETY: not empty.
        let at = unsafe { alloc_zeroed(layout) };
        (!at.is_null()).then(|| at.wrapping_add(at.align_offset(PAGE)))
    }
    fn append(&self, _context: u16, _header: &SegmentHeader, payload: &[u8]) {
        black_box(payload);
    }
    fn relax(&self) {
        std::thread::yield_now();
    }
}

const PAGE: usize = 4096;
/// Lines that all contexts use.
const SHARED: u64 = 0xffff_8880_0000_0000;
/// Lines of the first context alone; the next one's follow.
const OWN: u64 = 0xffff_8881_0000_0000;
/// Lines of each kind.
const LINES: u64 = 256;
/// Rounds, of which the median counts.
const ROUNDS: usize = 15;

type ContextList = Vec<&'static mut ShadowContext>;

fn main() {
    println!(
        "contexts  memory, MB  per context, KB  per shared line, KB  own line, ns  shared, 1 store in 8, ns"
    );
    for count in [4, 64, 1024] {
        measure(count);
    }
}

fn measure(count: u16) {
    let begun = resident_kb();
    let shadow =
        ShadowMemory::new(ShadowConfig::new(count.into()), DiscardingHost).expect("memory");
    let mut contexts: ContextList = (0..count)
        .map(|n| {
            let made = ShadowContext::allocate(n, &shadow.host).expect("memory");
            // SAFETY: just made, never freed, and not shared.
            unsafe { &mut *made }
        })
        .collect();
    let own = median_ns(|round| visit(&shadow, &mut contexts, round, |n| OWN + n * LINES * 64, 3));
    let each = resident_kb();
    let shared = median_ns(|round| visit(&shadow, &mut contexts, round, |_| SHARED, 8));
    let end = resident_kb();
    println!(
        "{count:>8} {:>11.1} {:>16.0} {:>20.1} {own:>13.1} {shared:>25.1}",
        (end - begun) as f64 / 1024.0,
        (each - begun) as f64 / f64::from(count),
        (end - each) as f64 / LINES as f64,
    );
}

/// One context after the other accesses its lines, each `stores_each`-th time by a store. Returns the
/// number of accesses.
fn visit(
    shadow: &ShadowMemory<DiscardingHost>,
    contexts: &mut ContextList,
    round: usize,
    start: impl Fn(u64) -> u64,
    stores_each: u64,
) -> u64 {
    let mut accesses = 0;
    for (n, context) in (0..).zip(contexts.iter_mut()) {
        for line in 0..LINES {
            let access = match (n + line + round as u64) % stores_each {
                0 => AccessKind::Write,
                _ => AccessKind::Read,
            };
            let addr = start(n) + line * 64 + n % 8 * 8;
            shadow.access(black_box(context), addr, 8, access, line as u32, || None);
            accesses += 1;
        }
    }
    accesses
}

fn median_ns(mut round: impl FnMut(usize) -> u64) -> f64 {
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|n| {
            let begun = Instant::now();
            let accesses = round(n);
            begun.elapsed().as_nanos() as f64 / accesses as f64
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

/// Memory of this process, as the system counts it.
fn resident_kb() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("procfs");
    let pages = text.split(' ').nth(1).and_then(|n| n.parse::<u64>().ok());
    pages.expect("a number of pages") * 4
}
