//! Cancellation of threads.

use std::ffi::c_int;

use crate::real::real;
use crate::signals::cancel::watch_cancellation;

/// # Safety
/// The same as of `pthread_cancel`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cancel(thread: libc::pthread_t) -> c_int {
    watch_cancellation();
    let real = real!(pthread_cancel: fn(libc::pthread_t) -> c_int);
    // SAFETY: as promised by the caller.
    real.map_or(libc::ENOSYS, |real| unsafe { real(thread) })
}
