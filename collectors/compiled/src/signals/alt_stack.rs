//! Alternate signal stacks, on which a recording ends after a thread's stack has overflowed.

use std::ptr::{null, null_mut};

use crate::sys;

/// Size of an alternate signal stack.
const STACK_BYTES: usize = 64 * 1024;

/// Gives the calling thread an alternate signal stack if it has none. Returns the argument of
/// [`remove_signal_stack`].
pub fn install_signal_stack() -> *mut u8 {
    // SAFETY: plain data, and memory of our own.
    unsafe {
        let mut now = std::mem::zeroed::<libc::stack_t>();
        if libc::sigaltstack(null(), &mut now) != 0 || now.ss_flags & libc::SS_DISABLE == 0 {
            return null_mut();
        }
        let Some(at) = sys::zeroed(STACK_BYTES) else {
            return null_mut();
        };
        now.ss_sp = at.cast();
        now.ss_size = STACK_BYTES;
        now.ss_flags = 0;
        libc::sigaltstack(&now, null_mut());
        at
    }
}

/// Removes the stack when the thread ends, unless the program has set another one.
pub fn remove_signal_stack(at: *mut u8) {
    if at.is_null() {
        return;
    }
    // SAFETY: as above; the kernel does not use the stack after the second call.
    unsafe {
        let mut now = std::mem::zeroed::<libc::stack_t>();
        if libc::sigaltstack(null(), &mut now) == 0 && now.ss_sp == at.cast() {
            now.ss_flags = libc::SS_DISABLE;
            libc::sigaltstack(&now, null_mut());
        }
        sys::unmap(at, STACK_BYTES);
    }
}
