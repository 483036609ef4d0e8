//! Silent stores, on request: an entry point is called before the store, so its effect shows later.
//!
//! After a store to a line that other threads use, the runtime keeps what the bytes were and sets
//! the thread's word back to [`tls::NEW`]. The thread's next entry into the runtime then comes by
//! [`settle_store`], which compares. All other accesses pay nothing for it. A comparison counts
//! only if no other thread has announced a store to the bytes meanwhile, and if the thread came
//! back by itself: not through a signal handler, which may run before the store.

use relayout_shadow::StoreEffect;

use crate::recording::{options, shadow};
use crate::store_watch::NO_WATCH;
use crate::thread::inside::{InsideRuntime, enter_known};
use crate::thread::state::RecordedThread;
use crate::{sys, tls};

/// Begins to watch the store that the thread has just announced, if the shadow awaits its effect.
///
/// # Safety
/// `thread` is the calling thread's word or was before a gap began, and the program is about to
/// make the store.
#[inline]
pub unsafe fn watch_store(thread: *mut RecordedThread, addr: u64, size: u8) {
    // SAFETY: as promised by the caller. A signal handler that comes in between settles the store.
    unsafe {
        if (*(*thread).context).awaits_store() {
            (*thread).store.begin(addr, size);
        }
    }
}

/// Notes the effect of the atomic operation that the calling thread has just made.
#[inline]
pub fn tell_effect(addr: u64, is_silent: bool) {
    let thread = tls::thread() as *mut RecordedThread;
    if thread.is_null() {
        return;
    }
    // SAFETY: the calling thread's own.
    unsafe { (*thread).store.tell(addr, is_silent) };
}

/// Settles the thread's last store at its next entry into the runtime.
#[cold]
#[inline(never)]
pub fn settle_store(inside: InsideRuntime) {
    let pauses = inside.0.store.pauses_after;
    let effect = inside.0.store.end();
    // SAFETY: the thread is inside, so only this call uses the context.
    unsafe { shadow().settle_store(&mut *inside.0.context, effect) };
    drop(inside);
    if pauses {
        sys::relax();
    }
}

/// Gives up watching the calling thread's last store: a signal came, maybe before the store.
pub fn forget_store() {
    let thread = tls::thread() as *mut RecordedThread;
    if thread.is_null() || tls::word() == tls::INSIDE || !options().values {
        return;
    }
    // SAFETY: the calling thread's own, which is outside.
    unsafe {
        if (*(*thread).context).awaits_store() {
            let word = tls::word();
            let inside = enter_known(thread);
            inside.0.store = NO_WATCH;
            shadow().settle_store(&mut *inside.0.context, StoreEffect::Unknown);
            drop(inside);
            tls::set_word(word);
        }
    }
}
