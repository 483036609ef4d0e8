//! Portions of accesses: after each, a thread stops to sample a pair of lines or to pause, and
//! sometimes to flush.

use std::sync::atomic::Ordering::*;

use super::inside::enter_known;
use super::state::RecordedThread;
use crate::gate::control;
use crate::recording::{self, options, shadow};
use crate::sys::{self, SavedErrno};
use crate::{gate, modules};

/// Accesses between two pauses, at most, and between two readings of the clock, at least.
const EACH_MAX: u32 = 1 << 16;
const _: () = assert!(EACH_MAX <= i32::MAX as u32);
/// Interval in which a running thread appends its records, at most.
const FLUSH_EVERY_NS: u64 = 500_000_000;

impl RecordedThread {
    /// Adds the accesses since the last stop to the context.
    pub(super) fn settle_portion(&mut self) {
        let done = i64::from(self.portion) - i64::from(self.countdown);
        self.portion = self.countdown;
        let cx = self.cx();
        cx.accesses = cx.accesses.wrapping_add_signed(done);
    }

    /// Returns the number of its context's accesses.
    pub fn accesses_made(&mut self) -> u64 {
        let since = i64::from(self.portion) - i64::from(self.countdown);
        self.cx().accesses.wrapping_add_signed(since)
    }

    /// Sets the number of accesses until the next stop.
    pub(super) fn next_portion(&mut self) {
        if self.pause_in == 0 {
            self.pause_in = self.draw_pause();
        }
        self.portion = self.pause_in.min(self.cx().accesses_to_sample()) as i32;
        self.countdown = self.portion;
    }

    /// Draws the accesses until the next pause, around the interval of the options, so that threads
    /// get out of step.
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

    /// Updates the control page and appends records, if enough accesses and time have passed.
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

/// Ends a portion: samples the pair of lines of the last access, at `addr`, or pauses. Returns true
/// if it paused.
///
/// # Safety
/// `thread` is the calling thread's word, and its `countdown` has reached 0.
#[inline(never)]
pub unsafe fn end_portion(thread: *mut RecordedThread, addr: u64) -> bool {
    // SAFETY: as promised by the caller.
    let inside = unsafe { enter_known(thread) };
    let errno = SavedErrno::save();
    if inside.0.countdown > 0 {
        // A signal handler came first and has ended the portion.
        return true;
    }
    let made = inside.0.portion as u32;
    // The thread that finishes shuts the gate before it waits for the threads inside.
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
    if pauses && recording::is_recorded() {
        inside.0.flush_if_due();
    }
    let is_announced = inside.0.store.is_set();
    inside.0.store.pauses_after = pauses && is_announced && options().yield_every > 0;
    drop(errno);
    drop(inside);
    if pauses && !is_announced && options().yield_every > 0 {
        sys::relax();
    }
    pauses
}
