//! Ctrl-C as a flag, and names of signals.

use std::sync::atomic::{AtomicU32, Ordering::*};

/// Signals that end programs, with their names.
const SIGNAL_NAMES: [(i32, &str); 18] = [
    (libc::SIGHUP, "SIGHUP"),
    (libc::SIGINT, "SIGINT"),
    (libc::SIGQUIT, "SIGQUIT"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGTRAP, "SIGTRAP"),
    (libc::SIGABRT, "SIGABRT"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGKILL, "SIGKILL"),
    (libc::SIGUSR1, "SIGUSR1"),
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGUSR2, "SIGUSR2"),
    (libc::SIGPIPE, "SIGPIPE"),
    (libc::SIGALRM, "SIGALRM"),
    (libc::SIGTERM, "SIGTERM"),
    (libc::SIGXCPU, "SIGXCPU"),
    (libc::SIGXFSZ, "SIGXFSZ"),
    (libc::SIGSYS, "SIGSYS"),
];

static SIGNAL_COUNT: AtomicU32 = AtomicU32::new(0);

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
        self.count() > 0
    }

    /// Returns the number of these signals so far.
    pub fn count(self) -> u32 {
        SIGNAL_COUNT.load(Relaxed)
    }
}

/// Makes this process ignore Ctrl-C from now on, so that a pager on the same terminal decides what it means. The child
/// must have been started before: ignored signals are inherited.
pub fn leave_interrupts_to_child() {
    // SAFETY: SIG_IGN is a valid disposition, and no handler runs.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
}

/// Returns the name of a signal that ends programs.
///
/// ```
/// assert_eq!(relayout_files::signal_name(11), Some("SIGSEGV"));
/// ```
pub fn signal_name(signal: i32) -> Option<&'static str> {
    let named = SIGNAL_NAMES.iter().find(|(number, _)| *number == signal)?;
    Some(named.1)
}

extern "C" fn on_signal(_signal: libc::c_int) {
    SIGNAL_COUNT.fetch_add(1, Relaxed);
}
