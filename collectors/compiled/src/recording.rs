//! State of the recording in this process, and the shadow and options that it uses.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, Ordering::*};

use relayout_shadow::ShadowMemory;

use crate::options::Options;
use crate::output::RtHost;

/// Values of [`STATE`].
const UNKNOWN: u32 = 0;
const STARTING: u32 = 1;
const RECORDED: u32 = 2;
const FINISHING: u32 = 3;
const OVER: u32 = 4;

static STATE: AtomicU32 = AtomicU32::new(UNKNOWN);

struct RuntimeParts(UnsafeCell<MaybeUninit<(ShadowMemory<RtHost>, Options)>>);

// SAFETY: written once, before STATE becomes RECORDED; `ShadowMemory` may be shared between
// threads.
unsafe impl Sync for RuntimeParts {}

static PARTS: RuntimeParts = RuntimeParts(UnsafeCell::new(MaybeUninit::uninit()));

/// Stores the shadow and the options.
///
/// # Safety
/// Only one thread calls this, once, between [`begin_start`] or [`restart`] and [`end_start`].
pub unsafe fn set_parts(shadow: ShadowMemory<RtHost>, options: Options) {
    // SAFETY: other threads read the parts only after STATE has become RECORDED.
    unsafe { (*PARTS.0.get()).write((shadow, options)) };
}

/// Returns the shadow.
///
/// Callers have a [`RecordedThread`](crate::thread::state::RecordedThread), or have seen that the
/// process is recorded.
#[inline(always)]
pub fn shadow() -> &'static ShadowMemory<RtHost> {
    // SAFETY: `set_parts` was called before any thread was made and before STATE became RECORDED.
    unsafe { &(*PARTS.0.get()).assume_init_ref().0 }
}

/// Returns the options that the host passed, under the same condition as [`shadow`].
pub fn options() -> &'static Options {
    // SAFETY: as in `shadow`.
    unsafe { &(*PARTS.0.get()).assume_init_ref().1 }
}

/// Returns true while this process is recorded and has not begun to finish.
#[inline]
pub fn is_recorded() -> bool {
    STATE.load(Acquire) == RECORDED
}

/// Returns true once this process will not be recorded, or no longer.
pub fn is_over() -> bool {
    STATE.load(Acquire) >= FINISHING
}

/// Claims the start of the recording for the caller; false if it was claimed before.
pub fn begin_start() -> bool {
    { STATE.compare_exchange(UNKNOWN, STARTING, AcqRel, Relaxed) }.is_ok()
}

/// Ends the start: the process is recorded, or never will be.
pub fn end_start(is_recorded: bool) {
    STATE.store(if is_recorded { RECORDED } else { OVER }, Release);
}

/// Begins a recording of its own in a forked child, in which no other thread runs.
pub fn restart() {
    STATE.store(STARTING, Release);
}

/// Claims the end of the recording for the caller; false if the process is not recorded or another
/// thread ends it.
pub fn begin_finish() -> bool {
    STATE.compare_exchange(RECORDED, FINISHING, AcqRel, Acquire) == Ok(RECORDED)
}

/// Returns true while a thread is ending the recording.
pub fn is_finishing() -> bool {
    STATE.load(Acquire) == FINISHING
}

/// Marks the recording as over.
pub fn set_over() {
    STATE.store(OVER, Release);
}
