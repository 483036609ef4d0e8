//! Signals: a fatal one ends the recording before the process, and none interrupts the runtime
//! while it holds a lock.
//!
//! The program's handlers are called through the runtime's. If the thread is inside the runtime,
//! the signal is deferred until it leaves: a handler that accessed the same line would wait for
//! ever for a lock of its own thread. Faults are never deferred. Questions of the program about its
//! handlers are answered as if the runtime were not there.

pub mod alt_stack;
pub mod cancel;
pub mod deferred;

use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering::*};

use crate::real::real;
use crate::sys::{self, SavedErrno};
use crate::thread::state::RecordedThread;
use crate::{finish, recording, store_watch, tls, values};

const SIGNALS: usize = 65;

/// Disposition of a signal by the program, as the kernel would keep it.
struct SignalDisposition {
    handler: AtomicUsize,
    flags: AtomicI32,
    mask: AtomicU64,
    /// The runtime's handler is installed in its place.
    ours: AtomicBool,
}

static PROGRAM: [SignalDisposition; SIGNALS] = [const {
    SignalDisposition {
        handler: AtomicUsize::new(libc::SIG_DFL),
        flags: AtomicI32::new(0),
        mask: AtomicU64::new(0),
        ours: AtomicBool::new(false),
    }
}; SIGNALS];

/// Returns true for signals that end the process by default.
fn is_fatal(signal: c_int) -> bool {
    use libc::{SIGCHLD, SIGCONT, SIGKILL, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGWINCH};
    !matches!(
        signal,
        SIGKILL | SIGSTOP | SIGCHLD | SIGCONT | SIGTSTP | SIGTTIN | SIGTTOU | SIGURG | SIGWINCH
    ) && (1..32).contains(&signal)
}

/// Returns true if the processor raised the signal for an instruction of the thread.
fn is_fault(signal: c_int, info: *const libc::siginfo_t) -> bool {
    use libc::{SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
    let raised = matches!(
        signal,
        SIGSEGV | SIGBUS | SIGFPE | SIGILL | SIGTRAP | SIGSYS
    );
    // SAFETY: the kernel passed it.
    raised && unsafe { (*info).si_code } > 0
}

fn real_sigaction(
    signal: c_int,
    action: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    let function =
        real!(sigaction: fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int);
    // SAFETY: the C library checks its arguments.
    function.map_or(-1, |function| unsafe { function(signal, action, old) })
}

/// Installs handlers for fatal signals that the program has not changed, to end the recording
/// first.
pub fn watch_fatal() {
    for signal in 1..32 {
        // SAFETY: plain data.
        let mut now = unsafe { std::mem::zeroed::<libc::sigaction>() };
        if is_fatal(signal)
            && real_sigaction(signal, null(), &mut now) == 0
            && now.sa_sigaction == libc::SIG_DFL
        {
            install(signal, libc::SIG_DFL, 0, 0);
        }
    }
}

fn mask_bits(mask: &libc::sigset_t) -> u64 {
    // SAFETY: the set is larger than the kernel's 64 signals, which come first.
    unsafe { std::ptr::from_ref(mask).cast::<u64>().read() }
}

fn mask_set(bits: u64) -> libc::sigset_t {
    // SAFETY: plain data, larger than 64 bits.
    unsafe {
        let mut set = std::mem::zeroed::<libc::sigset_t>();
        (&raw mut set).cast::<u64>().write(bits);
        set
    }
}

/// Stores the program's disposition in the table, and installs the runtime's in the kernel.
fn install(signal: c_int, handler: usize, flags: c_int, mask: u64) -> c_int {
    let entry = &PROGRAM[signal as usize];
    // SAFETY: plain data.
    let mut action = unsafe { std::mem::zeroed::<libc::sigaction>() };
    let ours = match handler {
        libc::SIG_IGN => false,
        libc::SIG_DFL => is_fatal(signal),
        _ => true,
    };
    action.sa_flags = flags;
    action.sa_mask = mask_set(mask);
    action.sa_sigaction = handler;
    if handler == libc::SIG_DFL && ours {
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        action.sa_sigaction = finish_and_raise as *const () as usize;
    } else if ours {
        action.sa_flags = (flags | libc::SA_SIGINFO) & !libc::SA_RESETHAND;
        action.sa_sigaction = deliver as *const () as usize;
    }
    entry.handler.store(handler, Release);
    entry.flags.store(flags, Release);
    entry.mask.store(mask, Release);
    entry.ours.store(ours, Release);
    real_sigaction(signal, &action, null_mut())
}

/// Replaces `sigaction` for the program.
///
/// # Safety
/// The same as of `sigaction`.
pub unsafe fn sigaction(
    signal: c_int,
    action: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    let known = usize::try_from(signal).ok().and_then(|n| PROGRAM.get(n));
    let entry = match known {
        Some(entry) if recording::is_recorded() || entry.ours.load(Acquire) => entry,
        _ => return real_sigaction(signal, action, old),
    };
    // SAFETY: plain data.
    let mut before = unsafe { std::mem::zeroed::<libc::sigaction>() };
    // This also finds out whether the signal exists.
    if real_sigaction(signal, null(), &mut before) != 0 {
        return -1;
    }
    if entry.ours.load(Acquire) {
        before.sa_sigaction = entry.handler.load(Acquire);
        before.sa_flags = entry.flags.load(Acquire);
        before.sa_mask = mask_set(entry.mask.load(Acquire));
    }
    // SAFETY: as promised by the caller.
    unsafe {
        let result = match action.as_ref() {
            Some(new) => install(
                signal,
                new.sa_sigaction,
                new.sa_flags,
                mask_bits(&new.sa_mask),
            ),
            None => 0,
        };
        if result == 0 && !old.is_null() {
            *old = before;
        }
        result
    }
}

/// Defers the signal if the thread is inside, or ends the runtime's own fault. Returns true if so.
///
/// # Safety
/// All arguments are those that the kernel passed to a handler.
unsafe fn put_off(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) -> bool {
    // SAFETY: as promised by the caller.
    if is_fault(signal, info) && unsafe { store_watch::continue_load(context) } {
        return true;
    }
    let thread = tls::thread() as *mut RecordedThread;
    if tls::word() != tls::INSIDE || thread.is_null() || is_fault(signal, info) {
        return false;
    }
    // SAFETY: as promised by the caller; the thread is the calling one. All signals are blocked
    // from the return on, so at most one is deferred.
    unsafe {
        let context = &mut *context.cast::<libc::ucontext_t>();
        let mask = (&raw mut context.uc_sigmask).cast::<u64>();
        (*thread).deferred.set(signal, *info, mask.read());
        mask.write(u64::MAX);
    }
    true
}

/// Stands in for the program's handlers, which may end the thread.
unsafe extern "C-unwind" fn deliver(
    signal: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    // SAFETY: as the kernel passed them.
    if unsafe { put_off(signal, info, context) } {
        return;
    }
    let Some(entry) = PROGRAM.get(signal as usize) else {
        return;
    };
    let handler = entry.handler.load(Acquire);
    if entry.flags.load(Acquire) & libc::SA_RESETHAND != 0 {
        let _errno = SavedErrno::save();
        install(signal, libc::SIG_DFL, 0, 0);
    }
    if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
        return;
    }
    values::forget_store();
    // SAFETY: the program's handler, with the kernel's arguments. One that takes only the signal
    // ignores the rest.
    unsafe {
        let handler: unsafe extern "C-unwind" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
            std::mem::transmute(handler);
        handler(signal, info, context);
    }
    // The interrupted code may be about to store, too.
    values::forget_store();
}

/// Stands in for the default of fatal signals: ends the recording, then the process.
unsafe extern "C" fn finish_and_raise(
    signal: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    // SAFETY: as the kernel passed them.
    if unsafe { put_off(signal, info, context) } {
        return;
    }
    let _errno = SavedErrno::save();
    finish::finish_by_signal(signal);
    // SAFETY: plain data.
    let mut action = unsafe { std::mem::zeroed::<libc::sigaction>() };
    action.sa_sigaction = libc::SIG_DFL;
    real_sigaction(signal, &action, null_mut());
    if !is_fault(signal, info) {
        // The signal is blocked until the return. A fault is raised again by itself, with the right
        // registers. SAFETY: the call takes no pointers.
        unsafe {
            libc::syscall(libc::SYS_tgkill, sys::pid(), sys::tid(), signal);
        }
    }
}
