//! Timing of *gaps*: the time that the program's own code takes from one access to the next.
//!
//! Recording makes accesses slow, but not the code between them: from the return of one entry point
//! to the call of the next, the program runs at full speed. Once in some thousands of accesses, at
//! random, the runtime sets the thread's word back to [`tls::NEW`] as the access ends. The next
//! entry into the runtime then takes the path of a new thread and comes by [`GapTimer::end_gap`].
//! All other accesses pay nothing for it.
//!
//! Reading the clock has a cost of its own, which an empty gap just before each gap measures. The
//! empty gap is some nanoseconds too short, because the processor predicts its jumps. The reader of
//! the gaps corrects for that by the shortest gap.

use std::arch::x86_64::{_mm_lfence, _rdtsc};
use std::mem::replace;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use relayout_shadow::wire::GapRecord;

use crate::gate::control;
use crate::{sys, tls};

/// Occasions for a gap of which one is used.
const EVERY: u32 = 4;
/// Ticks of an empty gap, at most; a longer one was interrupted.
const EMPTY_MAX: u64 = 1 << 11;
/// Ticks above which the thread may have waited or lost its processor within the gap.
const LONG: u64 = 1 << 14;
/// Time for which ticks are counted at the start.
const RATE_NS: u64 = 1_000_000;
/// Gaps kept in a thread until they are appended.
const KEPT: usize = 64;

/// Values of [`GapTimer::timed`].
const NOTHING: u8 = 0;
/// The empty gap is being timed.
pub const EMPTY: u8 = 1;
/// A gap of the program is being timed.
pub const GAP: u8 = 2;

/// Ticks of the time stamp counter in a second.
static RATE: AtomicU64 = AtomicU64::new(0);

/// Gap timer of one thread. All zero is a valid value.
pub struct GapTimer {
    /// Occasions to skip.
    skip: u32,
    /// Kind of gap that is being timed.
    timed: u8,
    /// The access before the gap waits for its line, which other threads use.
    pub is_shared: bool,
    /// Site of the access before the gap.
    site: u32,
    /// Interruptions of the recording when the gap began.
    pauses: u32,
    /// Time stamp counter and CPU time of the thread when the gap began.
    began: u64,
    began_cpu_ns: u64,
    /// Ticks of the empty gap.
    empty: u64,
    kept: usize,
    records: [GapRecord; KEPT],
}

/// Measures the rate of the time stamp counter.
pub fn start() {
    let (since_ns, since) = (sys::now_ns(), ticks());
    let mut now_ns = since_ns;
    while now_ns < since_ns + RATE_NS {
        now_ns = sys::now_ns();
    }
    let counted = u128::from(ticks().wrapping_sub(since));
    let rate = counted * 1_000_000_000 / u128::from(now_ns - since_ns);
    RATE.store(u64::try_from(rate).unwrap_or(0).max(1), Relaxed);
}

/// Reads the time stamp counter, ordered after all earlier instructions and before all later ones.
#[inline(always)]
pub fn ticks() -> u64 {
    // SAFETY: all x86-64 processors have both instructions.
    unsafe {
        _mm_lfence();
        let ticks = _rdtsc();
        _mm_lfence();
        ticks
    }
}

impl GapTimer {
    /// Returns true if the gap after the current access is to be timed.
    pub fn is_due(&mut self) -> bool {
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        self.skip = EVERY - 1;
        true
    }

    /// Notes the state of the recording and the thread before a gap that follows an access at
    /// `site`.
    pub fn prepare(&mut self, site: u32) {
        self.site = site;
        self.pauses = control().pauses.load(Relaxed);
        self.began_cpu_ns = sys::thread_cpu_ns();
    }

    /// Begins a gap of kind `timed` now. The calling thread's word becomes [`tls::NEW`].
    #[inline(never)]
    pub fn arm(&mut self, timed: u8) {
        self.timed = timed;
        self.began = ticks();
        tls::set_word(tls::NEW);
    }

    /// Ends the calling thread's gap at `now`. Returns true if it was an empty one: the thread has
    /// not left the runtime.
    pub fn end_gap(&mut self, now: u64) -> bool {
        let ticks = now.wrapping_sub(self.began);
        let timed = replace(&mut self.timed, NOTHING);
        match timed {
            EMPTY => self.empty = ticks,
            // If the recording was interrupted meanwhile, accesses were missed.
            GAP if self.pauses == control().pauses.load(Relaxed) => self.add_gap(ticks),
            _ => {}
        }
        timed == EMPTY
    }

    fn add_gap(&mut self, ticks: u64) {
        if self.empty > EMPTY_MAX || ticks > i64::MAX as u64 || self.kept == KEPT {
            return;
        }
        let ticks = if ticks > LONG {
            ticks.min(self.worked_ticks())
        } else {
            ticks
        };
        let own = i128::from(ticks) - i128::from(self.empty);
        let ps = own * 1_000_000_000_000 / i128::from(RATE.load(Relaxed));
        self.records[self.kept] = GapRecord {
            ps: i64::try_from(ps).unwrap_or(i64::MAX),
            site: self.site,
            is_shared: self.is_shared.into(),
        };
        self.kept += 1;
    }

    /// CPU time of the thread since the gap began, in ticks.
    fn worked_ticks(&self) -> u64 {
        let cpu_ns = sys::thread_cpu_ns().saturating_sub(self.began_cpu_ns);
        let ticks = u128::from(cpu_ns) * u128::from(RATE.load(Relaxed)) / 1_000_000_000;
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }

    /// Returns true if there is no room for another gap.
    pub fn is_full(&self) -> bool {
        self.kept == KEPT
    }

    /// Drains the kept gaps.
    pub fn take_records(&mut self) -> &[GapRecord] {
        &self.records[..replace(&mut self.kept, 0)]
    }
}
