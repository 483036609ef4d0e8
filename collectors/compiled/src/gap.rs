//! How long the program's own code takes from one access to the next: its *gaps*, of which a few are timed.
//!
//! Recording makes accesses slow, but not what is between them: from the return out of one entry point to the
//! call of the next the program's code runs as it always does. One access in some thousands, taken at random,
//! sets the thread's word back to [`tls::NEW`] as it ends. So the next one, or whatever else goes inside,
//! comes by [`end`], and the others' path has nothing more to do.
//!
//! What taking the time itself costs is timed just before each, by a gap with nothing in it. That costs some
//! nanoseconds less, since there the processor has foreseen where it goes on: whoever reads the gaps finds out
//! how much from the shortest of them.

use std::arch::asm;
use std::arch::x86_64::{_mm_lfence, _rdtsc};
use std::mem::replace;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use relayout_shadow::wire::GapRecord;

use crate::access::{READ, WRITE, access};
use crate::entry::entry_point;
use crate::gate::control;
use crate::runtime::shadow;
use crate::thread::RecordedThread;
use crate::{sys, tls};

/// Of the occasions that a thread has, one in so many is taken.
const EVERY: u32 = 4;
/// Ticks that a gap with nothing in it cannot take, unless the thread was interrupted.
const EMPTY_MAX: u64 = 1 << 11;
/// A gap of more ticks may be one in which the thread waited for something, or had no processor.
const LONG: u64 = 1 << 14;
/// For how long ticks are counted at the start.
const RATE_NS: u64 = 1_000_000;
/// Gaps that are kept until they are appended.
const KEPT: usize = 64;

/// Values of [`Gaps::timed`].
const NOTHING: u8 = 0;
const EMPTY: u8 = 1;
const GAP: u8 = 2;

/// Ticks of the time stamp counter in a second.
static RATE: AtomicU64 = AtomicU64::new(0);

/// Of one thread. May be all zero.
pub struct GapTimer {
    /// Occasions to let pass.
    skip: u32,
    /// What is under way.
    timed: u8,
    /// Of the access before the gap: another had used its line, and it had to have it.
    is_shared: bool,
    /// Site of that access.
    site: u32,
    /// How often watching had been interrupted by then.
    pauses: u32,
    /// When it began: of the time stamp counter, and of the thread's CPU time in nanoseconds.
    began: u64,
    began_cpu_ns: u64,
    /// Ticks of the gap with nothing in it.
    empty: u64,
    kept: usize,
    records: [GapRecord; KEPT],
}

entry_point!(relayout_rt_gap_end => access::<0, READ>);

/// Finds out how fast the counter is.
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

/// Reads the time stamp counter after all that comes before, and before all that comes after.
#[inline(always)]
pub fn ticks() -> u64 {
    // SAFETY: all x86-64 processors have both.
    unsafe {
        _mm_lfence();
        let ticks = _rdtsc();
        _mm_lfence();
        ticks
    }
}

/// An access ends; times the gap after it if that one's turn has come. Has to be the last that the runtime
/// does before it returns to the program.
///
/// # Safety
/// `thread` is the calling thread's word, and the program is about to access `addr` in this way.
#[inline(never)]
pub unsafe fn begin_gap(thread: *mut RecordedThread, addr: u64, kind: u8, site: u32) {
    // SAFETY: as promised by the caller.
    let gaps = unsafe { &mut (*thread).gaps };
    if gaps.skip > 0 {
        gaps.skip -= 1;
        return;
    }
    gaps.skip = EVERY - 1;
    gaps.site = site;
    gaps.pauses = control().pauses.load(Relaxed);
    gaps.began_cpu_ns = sys::thread_cpu_ns();
    // A plain store waits for no line.
    gaps.is_shared = kind != WRITE && shadow().events_in(addr, 1) > 0;
    // The first one brings what it takes into the caches.
    for _ in 0..2 {
        // SAFETY: as promised by the caller; touches no memory of the program's.
        unsafe {
            arm_timer(thread, EMPTY);
            relayout_rt_gap_end(0);
        }
        if tls::word() == tls::NEW {
            // The gate was shut.
            tls::set_word(thread as usize);
            return;
        }
    }
    // SAFETY: as promised by the caller.
    unsafe {
        if gaps.is_shared {
            fetch_line(addr, kind);
        }
        arm_timer(thread, GAP);
    }
}

/// Takes the line of `addr` to this processor as an access of that kind does, and changes nothing: most of what
/// would be waited for it in the gap is waited for here.
///
/// # Safety
/// The program is about to make that access.
#[inline(always)]
unsafe fn fetch_line(addr: u64, kind: u8) {
    // SAFETY: as promised by the caller.
    unsafe {
        if kind == READ {
            asm!("mov {0}, byte ptr [{1}]", out(reg_byte) _, in(reg) addr,
                options(nostack, readonly, preserves_flags));
        } else {
            asm!("lock or byte ptr [{0}], 0", in(reg) addr, options(nostack));
        }
    }
}

/// # Safety
/// `thread` is the calling thread's word.
#[inline(never)]
unsafe fn arm_timer(thread: *mut RecordedThread, timed: u8) {
    // SAFETY: as promised by the caller.
    let gaps = unsafe { &mut (*thread).gaps };
    gaps.timed = timed;
    gaps.began = ticks();
    tls::set_word(tls::NEW);
}

/// A gap of `thread`, the calling one's, ended at `now`.
pub fn end_gap(thread: &mut RecordedThread, now: u64) {
    let gaps = &mut thread.gaps;
    let ticks = now.wrapping_sub(gaps.began);
    match replace(&mut gaps.timed, NOTHING) {
        EMPTY => gaps.empty = ticks,
        // Else watching was interrupted meanwhile, and accesses passed by.
        GAP if gaps.pauses == control().pauses.load(Relaxed) => gaps.add_gap(ticks),
        _ => {}
    }
}

impl GapTimer {
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

    /// CPU time since it began, in ticks.
    fn worked_ticks(&self) -> u64 {
        let cpu_ns = sys::thread_cpu_ns().saturating_sub(self.began_cpu_ns);
        let ticks = u128::from(cpu_ns) * u128::from(RATE.load(Relaxed)) / 1_000_000_000;
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }

    /// Whether there is no room for more.
    pub fn is_full(&self) -> bool {
        self.kept == KEPT
    }

    /// Hands out what was kept.
    pub fn take_records(&mut self) -> &[GapRecord] {
        &self.records[..replace(&mut self.kept, 0)]
    }
}
