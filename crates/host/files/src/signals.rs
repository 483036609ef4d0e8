//! Ctrl-C, as a flag.

use std::sync::atomic::{AtomicBool, Ordering::*};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Whether the user (or the system) asked to stop. Only one is needed; all see the same flag.
#[derive(Clone, Copy, Debug)]
pub struct InterruptFlag(());

impl InterruptFlag {
    /// From now on SIGINT, SIGTERM and SIGHUP set the flag; a second one ends the process as usual.
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

    /// It was asked for.
    pub fn is_set(self) -> bool {
        INTERRUPTED.load(Relaxed)
    }
}

extern "C" fn on_signal(_signal: libc::c_int) {
    INTERRUPTED.store(true, Relaxed);
}
