//! State of a recorded thread, and the table of all that were made.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};

use relayout_shadow::{CONTEXTS_MAX, ShadowContext};

use crate::announced::AnnouncedRanges;
use crate::gap::GapTimer;
use crate::signals::deferred::DeferredSignal;
use crate::stack::{CallerFrame, StackBounds};
use crate::store_watch::StoreWatch;

/// Bytes of a thread's name in the kernel, including the final newline of `/proc`.
pub(super) const NAME_BYTES: usize = 16;

/// Values of [`RecordedThread::state`].
pub(super) const LIVE: u32 = 1;
pub(super) const ENDED: u32 = 2;

/// Context, counters and buffers of one recorded thread. Other threads use the atomic fields only.
#[repr(C, align(128))]
pub struct RecordedThread {
    pub context: *mut ShadowContext,
    /// Accesses until the next stop, for a pause or a sample of a pair of lines. Below 0 if a
    /// signal handler made accesses between the last one and the stop.
    pub countdown: i32,
    /// Every access is counted by granule and site.
    pub count_all: bool,
    /// Not 0 while the thread may be changing data that [`finish`](crate::finish::finish) reads.
    pub inside: AtomicU32,
    /// Value of `countdown` after the last stop.
    pub(super) portion: i32,
    /// Accesses from the last stop to the next pause.
    pub(super) pause_in: u32,
    pub(super) state: AtomicU32,
    pub(super) tid: AtomicU32,
    pub(super) random: u64,
    /// Value of the context's `accesses` at which the thread reads the clock next.
    pub(super) flush_check_at: u64,
    pub(super) flushed_ns: u64,
    /// Accesses and transfers that were added to the control page.
    pub(super) reported: (u64, u64),
    /// Calls of the destructor of thread-specific data so far.
    pub(super) rounds: u32,
    /// Name that was appended last.
    pub(super) name: [u8; NAME_BYTES],
    pub gaps: GapTimer,
    pub store: StoreWatch,
    pub stack: Option<StackBounds>,
    pub signal_stack: *mut u8,
    pub deferred: DeferredSignal,
    /// Caller of `operator new`, which an allocation by the `malloc` in it is attributed to.
    pub allocates_for: Option<CallerFrame>,
    pub announced: AnnouncedRanges,
}

/// Threads by number of their context. None is ever freed.
pub(super) static THREADS: [AtomicPtr<RecordedThread>; CONTEXTS_MAX] =
    [const { AtomicPtr::new(null_mut()) }; CONTEXTS_MAX];
/// Requests for a new context; may exceed the number of contexts.
pub(super) static USED: AtomicU32 = AtomicU32::new(0);

impl RecordedThread {
    pub(super) fn cx(&mut self) -> &mut ShadowContext {
        // SAFETY: contexts are never freed; only this thread uses it.
        unsafe { &mut *self.context }
    }
}

/// Returns all threads that were made.
pub(super) fn threads_made() -> impl Iterator<Item = *mut RecordedThread> {
    THREADS
        .iter()
        .map(|slot| slot.load(Acquire))
        .filter(|thread| !thread.is_null())
}
