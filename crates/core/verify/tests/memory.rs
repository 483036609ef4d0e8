//! Memory that the numbers of a long output take.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use relayout_verify::extract::{StartOutput, extract_values};
use relayout_verify::metric::Metric;

/// The system's allocator, which counts.
struct CountingAllocator;

static NOW_BYTES: AtomicUsize = AtomicUsize::new(0);
static MOST_BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all calls go to the system's allocator, as they are.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW_BYTES.fetch_add(layout.size(), Relaxed) + layout.size();
        MOST_BYTES.fetch_max(now, Relaxed);
        // SAFETY: as the caller guarantees.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW_BYTES.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller guarantees.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// A number takes 8 bytes, and a list that grows has up to three times as many in hand. Each row as
/// a document took several hundred.
#[test]
fn a_long_output_takes_no_more_than_its_numbers() {
    const ROWS: usize = 200_000;
    let row = "{\"ops\": 3, \"name\": \"a\"}";
    for (metric, text) in [
        ("ops=json:/ops", [row, "\n"].concat().repeat(ROWS)),
        (
            "ops=regex:\"ops\": ([0-9]+)",
            [row, "\n"].concat().repeat(ROWS),
        ),
    ] {
        let metric = Metric::parse(metric).unwrap();
        let output = StartOutput {
            stdout: &text,
            stderr: "",
            wall_s: 1.0,
            cpu_s: 1.0,
        };
        let before = NOW_BYTES.load(Relaxed);
        MOST_BYTES.store(before, Relaxed);
        let result = extract_values(&metric, &output);
        let most = MOST_BYTES.load(Relaxed) - before;
        assert_eq!(result.unwrap()[""].len(), ROWS);
        assert!(most < 4 * text.len(), "{most} bytes for {}", text.len());
    }
}
