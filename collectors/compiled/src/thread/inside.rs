//! The guard of a thread that runs the runtime's own code.

use std::sync::atomic::{Ordering::*, compiler_fence};

use super::state::RecordedThread;
use crate::tls;

/// Guard of a thread that is inside the runtime. Interposed functions go straight to the C library
/// meanwhile.
pub struct InsideRuntime(pub &'static mut RecordedThread);

/// Enters the runtime from outside.
///
/// # Safety
/// `thread` is the calling thread's word.
#[inline(always)]
pub unsafe fn enter_known(thread: *mut RecordedThread) -> InsideRuntime {
    tls::set_word(tls::INSIDE);
    // SAFETY: threads are never freed.
    unsafe { (*thread).inside.store(1, Relaxed) };
    // A compiler fence suffices: a thread that waits for others calls membarrier(2).
    compiler_fence(SeqCst);
    // SAFETY: the word is INSIDE now, so no other code on this thread gets here.
    InsideRuntime(unsafe { &mut *thread })
}

impl Drop for InsideRuntime {
    #[inline(always)]
    fn drop(&mut self) {
        compiler_fence(SeqCst);
        self.0.inside.store(0, Release);
        restore_word(&raw mut *self.0 as usize);
    }
}

/// Sets the calling thread's word back to its value before INSIDE, and delivers a deferred signal.
#[inline(always)]
pub fn restore_word(word: usize) {
    tls::set_word(word);
    compiler_fence(SeqCst);
    if word > tls::INSIDE {
        // SAFETY: the calling thread's own.
        let thread = unsafe { &mut *(word as *mut RecordedThread) };
        if thread.deferred.is_set() {
            thread.deferred.deliver();
        }
    }
}
