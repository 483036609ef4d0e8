//! Every so many accesses a thread stops: it looks at a pair of lines or pauses, and now and then appends what it has.

use std::sync::atomic::Ordering::*;

use super::{RecordedThread, enter_known};
use crate::gate::control;
use crate::runtime::{options, shadow};
use crate::sys::{self, SavedErrno};
use crate::{gap, gate, modules, runtime};

/// Accesses between pauses, at most; also between looks at the clock.
const EACH_MAX: u32 = 1 << 16;
const _: () = assert!(EACH_MAX <= i32::MAX as u32);
/// What is gathered is appended at least this often while the thread works.
const FLUSH_EVERY_NS: u64 = 500_000_000;

impl RecordedThread {
    /// Counts the accesses since the last stop.
    pub(super) fn settle_portion(&mut self) {
        let done = i64::from(self.portion) - i64::from(self.countdown);
        self.portion = self.countdown;
        let cx = self.cx();
        cx.accesses = cx.accesses.wrapping_add_signed(done);
    }

    /// Sets when to stop next.
    pub(super) fn next_portion(&mut self) {
        if self.pause_in == 0 {
            self.pause_in = self.draw_pause();
        }
        self.portion = self.pause_in.min(self.cx().accesses_to_sample()) as i32;
        self.countdown = self.portion;
    }

    /// When to pause next: at random around what was asked for, so that threads do not fall into step.
    fn draw_pause(&mut self) -> u32 {
        let every = options().yield_every;
        if every == 0 {
            EACH_MAX
        } else {
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            let next = u64::from(every / 2) + (self.random >> 33) % u64::from(every);
            next.clamp(1, EACH_MAX.into()) as u32
        }
    }

    /// Now and then: tells the control page, appends what was gathered.
    fn flush_if_due(&mut self) {
        let accesses = self.cx().accesses;
        if accesses < self.flush_check_at {
            return;
        }
        self.flush_check_at = accesses + u64::from(EACH_MAX);
        self.report_progress();
        let now = sys::now_ns();
        if now - self.flushed_ns >= FLUSH_EVERY_NS {
            self.flushed_ns = now;
            modules::list_new();
            self.append_gaps();
            self.cx().flush(&shadow().host);
        }
    }

    pub(super) fn append_gaps(&mut self) {
        // SAFETY: contexts are never freed; only this thread uses it.
        let cx = unsafe { &mut *self.context };
        cx.append(self.gaps.take_records(), &shadow().host);
    }

    pub(super) fn report_progress(&mut self) {
        let reported = self.reported;
        let cx = self.cx();
        let now = (cx.accesses, cx.transfers);
        let control = control();
        control
            .accesses
            .fetch_add(now.0.wrapping_sub(reported.0), Relaxed);
        control
            .transfers
            .fetch_add(now.1.wrapping_sub(reported.1), Relaxed);
        control.operations.store(shadow().operations(), Relaxed);
        self.reported = now;
    }
}

/// Called when `countdown` has come to 0, from outside, with the last access: looks at its pair of
/// lines, or pauses.
///
/// # Safety
/// `thread` is the calling thread's word.
#[cold]
#[inline(never)]
pub unsafe fn stop(thread: *mut RecordedThread, addr: u64, kind: u8, site: u32) {
    // SAFETY: as promised by the caller.
    unsafe {
        // What comes after a pause is not what mostly is.
        if !stop_or_pause(thread, addr) {
            gap::begin_gap(thread, addr, kind, site);
        }
    }
}

/// Whether it paused.
///
/// # Safety
/// As for [`stop`].
#[inline(never)]
unsafe fn stop_or_pause(thread: *mut RecordedThread, addr: u64) -> bool {
    let _errno = SavedErrno::save();
    // SAFETY: as promised by the caller.
    let inside = unsafe { enter_known(thread) };
    if inside.0.countdown > 0 {
        // A signal's handler came first, and has stopped for both.
        return true;
    }
    let made = inside.0.portion as u32;
    // Whoever ends the recording shuts the gate, and then waits for those inside.
    if gate::is_open() {
        shadow().pass_accesses(inside.0.cx(), made, addr);
    }
    inside.0.settle_portion();
    inside.0.pause_in -= made;
    let pauses = inside.0.pause_in == 0;
    inside.0.next_portion();
    if inside.0.gaps.is_full() {
        inside.0.append_gaps();
    }
    if pauses && runtime::is_recorded() {
        inside.0.flush_if_due();
    }
    drop(inside);
    if pauses && options().yield_every > 0 {
        sys::relax();
    }
    pauses
}
