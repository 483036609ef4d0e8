//! A signal that arrived while its thread was inside the runtime.

use std::ffi::c_int;

use crate::sys;

/// Signal to deliver when the thread leaves the runtime. All zero means none.
pub struct DeferredSignal {
    signal: c_int,
    info: libc::siginfo_t,
    mask: u64,
}

impl DeferredSignal {
    #[inline(always)]
    pub fn is_set(&self) -> bool {
        self.signal != 0
    }

    /// Stores the signal. `mask` is the thread's signal mask before all signals were blocked.
    pub fn set(&mut self, signal: c_int, info: libc::siginfo_t, mask: u64) {
        self.info = info;
        self.mask = mask;
        // SAFETY: a field of `self`; volatile, so that the signal is set after the rest.
        unsafe { (&raw mut self.signal).write_volatile(signal) };
    }

    /// Drops the signal in a forked child, since the parent gets it, and restores the mask.
    pub fn discard(&mut self) {
        if self.is_set() {
            self.signal = 0;
            sys::set_signal_mask(self.mask);
        }
    }

    /// Sends the signal again, now that the thread is outside, and restores the mask.
    #[cold]
    #[inline(never)]
    pub fn deliver(&mut self) {
        let signal = std::mem::take(&mut self.signal);
        // SAFETY: the kernel reads a field of `self`; the signal stays blocked until the mask is
        // set.
        unsafe {
            let (pid, tid) = (sys::pid(), sys::tid());
            let info = &raw const self.info;
            let arguments = [pid.into(), tid.into(), signal as u64, info as u64];
            sys::plain_call(libc::SYS_rt_tgsigqueueinfo, arguments);
        }
        sys::set_signal_mask(self.mask);
    }
}
