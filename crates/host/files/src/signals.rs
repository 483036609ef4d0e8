//! Ctrl-C as a flag.

use std::sync::atomic::{AtomicBool, Ordering::*};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Flag that the user or the system sets to stop relayout. All values share one flag.
#[derive(Clone, Copy, Debug)]
pub struct InterruptFlag(());

impl InterruptFlag {
    /// Makes SIGINT, SIGTERM and SIGHUP set the flag. A second signal ends the process as usual.
    pub fn catch() -> Self {
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            // SAFETY: the handler only stores to an atomic; SA_RESETHAND restores the default.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = on_signal as *const () as usize;
                action.sa_flags = libc::SA_RESETHAND | libc::SA_RESTART;
                libc::sigaction(signal, &action, std::ptr::null_mut());
            }
        }
        Self(())
    }

    /// Returns true after the first of these signals.
    pub fn is_set(self) -> bool {
        INTERRUPTED.load(Relaxed)
    }
}

extern "C" fn on_signal(_signal: libc::c_int) {
    INTERRUPTED.store(true, Relaxed);
}
