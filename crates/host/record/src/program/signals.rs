//! Signals that ask relayout to stop while a program runs: they are the program's to answer.

use std::sync::atomic::{AtomicI32, AtomicU32, Ordering::*};

static SIGNAL_COUNT: AtomicU32 = AtomicU32::new(0);
static LAST_SIGNAL: AtomicI32 = AtomicI32::new(0);
/// The last one came from the terminal, which sends it to the program too.
static FROM_TERMINAL: AtomicU32 = AtomicU32::new(0);
/// 1 once the program has ended: signals are relayout's own, and the second one ends it.
static IS_LAST_PHASE: AtomicU32 = AtomicU32::new(0);

/// Signals that asked this process to stop. All values share them.
#[derive(Clone, Copy, Debug)]
pub struct StopSignals(());

/// A signal that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedSignal {
    /// Its number.
    pub signal: i32,
    /// Number of earlier signals.
    pub earlier_signals: u32,
    /// True if the program has received the signal already.
    pub reached_program: bool,
}

impl StopSignals {
    /// Catches SIGINT, SIGTERM and SIGHUP from now on, unless they are ignored, as under `nohup`.
    /// The third signal ends the process as usual.
    pub fn catch() -> Self {
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            // SAFETY: the handler only stores to atomics and restores the default, by a call that
            // is async-signal-safe.
            unsafe {
                let mut old: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, std::ptr::null(), &mut old);
                if old.sa_sigaction == libc::SIG_IGN {
                    continue;
                }
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = on_signal as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
                libc::sigaction(signal, &action, std::ptr::null_mut());
            }
        }
        Self(())
    }

    /// Returns the number of signals so far.
    pub fn count(self) -> u32 {
        SIGNAL_COUNT.load(Acquire)
    }

    /// Makes the next signal abort what relayout does itself, and the one after that end it at once.
    /// Returns the number of signals so far.
    pub(super) fn begin_last_phase(self) -> u32 {
        IS_LAST_PHASE.store(1, Release);
        self.count()
    }

    /// Makes signals the program's again: another recording begins.
    pub(super) fn begin_recording(self) {
        IS_LAST_PHASE.store(0, Release);
    }

    /// The last one, if more than `seen` came.
    pub(super) fn latest_after(self, seen: u32) -> Option<ReceivedSignal> {
        (self.count() > seen).then(|| ReceivedSignal {
            signal: LAST_SIGNAL.load(Relaxed),
            earlier_signals: seen,
            reached_program: FROM_TERMINAL.load(Relaxed) != 0,
        })
    }
}

extern "C" fn on_signal(signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel gives a valid `info`.
    let from_kernel = !info.is_null() && unsafe { (*info).si_code } == libc::SI_KERNEL;
    LAST_SIGNAL.store(signal, Relaxed);
    FROM_TERMINAL.store(u32::from(from_kernel), Relaxed);
    let earlier = SIGNAL_COUNT.fetch_add(1, Release);
    if earlier >= 1 || IS_LAST_PHASE.load(Acquire) != 0 {
        // SAFETY: as above.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}
