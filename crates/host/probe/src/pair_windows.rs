//! Windows in which two CPUs run a [`ProbeLoop`].

use std::cell::UnsafeCell;
use std::io;
use std::sync::atomic::AtomicBool;

use relayout_files::InterruptFlag;

use crate::crew::{
    CrewPlan, CrewWindows, CrewWork, MEMORY_PLACES, MeasuredWindow, WindowJob, WindowPart,
    WorkCount, run_crew,
};
use crate::loops::{ProbeLoop, ProbeWords, WordDistance, follow, lead};

/// Memory in which the words of a window are placed.
const ARENA_BYTES: usize = MEMORY_PLACES * WORDS_SPAN_BYTES;
/// Words of one window are within this many bytes: 20 pairs of lines.
const WORDS_SPAN_BYTES: usize = 1 << 14;
/// Longer lines are measured as if they were of this size.
const LINE_BYTES_MAX: usize = 256;

/// A window's nanoseconds for one operation.
pub type ProbeWindow = MeasuredWindow<ProbeLoop, f64>;

/// Runs the plan on two CPUs, or on one if no loop takes two.
///
/// # Errors
/// A thread cannot be pinned to its CPU.
pub fn run_pair_plan(
    cpus: [u32; 2],
    plan: &CrewPlan<ProbeLoop>,
    line_bytes: usize,
    interrupt: InterruptFlag,
) -> io::Result<CrewWindows<ProbeLoop, f64>> {
    let work = PairWork {
        arena: WordArena::new(),
        line_bytes,
    };
    run_crew(&cpus, &work, plan, interrupt)
}

struct PairWork {
    arena: WordArena,
    line_bytes: usize,
}

impl CrewWork for PairWork {
    type Arrangement = ProbeLoop;
    type Outcome = f64;

    fn threads(&self, probe_loop: ProbeLoop) -> usize {
        1 + usize::from(probe_loop.needs_follower())
    }

    fn prepare(&self, job: &WindowJob<ProbeLoop>) {
        self.arena.words(job, self.line_bytes).clear();
    }

    fn work(&self, job: &WindowJob<ProbeLoop>, thread: usize, over: &AtomicBool) -> WorkCount {
        let words = self.arena.words(job, self.line_bytes);
        let operations = match thread {
            0 => lead(job.arrangement, words, job.window, over),
            _ => follow(job.arrangement, words, over),
        };
        WorkCount {
            operations,
            events: 0,
        }
    }

    fn outcome(&self, job: &WindowJob<ProbeLoop>, parts: &[WindowPart]) -> Option<f64> {
        let leader = parts.first()?;
        let operations = leader.count.operations as f64 * job.arrangement.lines_moved() as f64;
        let cost = match (job.arrangement, parts.get(1)) {
            // Both threads do the same: the mean of the two is more precise.
            (ProbeLoop::TwoWriters(_), Some(other)) => {
                let other_rate = other.count.operations as f64 / other.wall_ns;
                2.0 / (operations / leader.wall_ns + other_rate)
            }
            _ => leader.wall_ns / operations,
        };
        Some(cost).filter(|cost| cost.is_finite() && *cost > 0.0)
    }
}

/// Memory for the words.
struct WordArena(Vec<UnsafeCell<ArenaPage>>);

#[derive(Clone, Copy)]
#[repr(C, align(4096))]
struct ArenaPage([u8; 4096]);

// SAFETY: the threads of a crew reach it by atomics, and by loads and stores of the hardware that
// the compiler does not know as accesses to it.
unsafe impl Sync for WordArena {}

impl WordArena {
    fn new() -> Self {
        // Written to, so that no window pays for a page fault.
        let page = || UnsafeCell::new(ArenaPage([1; 4096]));
        Self(
            std::iter::repeat_with(page)
                .take(ARENA_BYTES / size_of::<ArenaPage>())
                .collect(),
        )
    }

    fn words(&self, job: &WindowJob<ProbeLoop>, line: usize) -> ProbeWords<'_> {
        let line = line.min(LINE_BYTES_MAX);
        let base = self.0.as_ptr().cast::<u8>().cast_mut();
        let pair = |number: usize| job.place * WORDS_SPAN_BYTES + number * 2 * line;
        let (first, buddy) = match job.is_odd_line {
            false => (pair(0), pair(0) + line),
            true => (pair(0) + line, pair(0)),
        };
        let second = match (job.arrangement, job.arrangement.word_distance()) {
            (
                ProbeLoop::TwoWriters(_) | ProbeLoop::Compete(..) | ProbeLoop::Visit(..),
                WordDistance::Same,
            ) => first + 8,
            (_, WordDistance::Buddy) => buddy,
            _ => pair(7),
        };
        let odd = pair(19)
            + if job.arrangement.splits_word() {
                line - 4
            } else {
                8
            };
        // SAFETY: 20 pairs of lines of at most LINE_BYTES_MAX are within the place, and that within
        // the arena; the atomics are at multiples of eight.
        unsafe {
            ProbeWords {
                first: &*base.add(first).cast(),
                second: &*base.add(second).cast(),
                beside_first: &*base.add(first + 16).cast(),
                beside_second: &*base.add(second + 16).cast(),
                odd: base.add(odd).cast(),
                own: &*base.add(pair(13)).cast(),
            }
        }
    }
}
