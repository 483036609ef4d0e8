//! Going inside, where what the thread does is its own, and out again.

use std::sync::atomic::{Ordering::*, compiler_fence};

use super::{RecordedThread, attach_thread};
use crate::{signals, tls};

/// While it lives, the thread is inside.
pub struct InsideRuntime(pub &'static mut RecordedThread);

/// Goes inside; `None` if the thread is there already, or is not watched.
#[inline]
pub fn enter() -> Option<InsideRuntime> {
    let word = tls::word();
    if word == tls::INSIDE {
        return None;
    }
    if word == tls::NEW && !attach_thread() {
        return None;
    }
    let thread = tls::word() as *mut RecordedThread;
    // SAFETY: no NEW, no INSIDE: a thread, never freed.
    Some(unsafe { enter_known(thread) })
}

/// Goes inside from outside.
///
/// # Safety
/// `thread` is the calling thread's word.
#[inline(always)]
pub unsafe fn enter_known(thread: *mut RecordedThread) -> InsideRuntime {
    tls::set_word(tls::INSIDE);
    // SAFETY: threads are never freed.
    unsafe { (*thread).inside.store(1, Relaxed) };
    // Only for the compiler: who waits for threads calls membarrier(2).
    compiler_fence(SeqCst);
    // SAFETY: the word was taken away, so nobody else on this thread gets here.
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

/// Sets the calling thread's word to what it was before it was INSIDE.
#[inline(always)]
pub fn restore_word(word: usize) {
    tls::set_word(word);
    compiler_fence(SeqCst);
    if word > tls::INSIDE {
        // SAFETY: the calling thread's.
        let thread = unsafe { &mut *(word as *mut RecordedThread) };
        if thread.deferred.is_set() {
            signals::deliver_deferred(thread);
        }
    }
}
