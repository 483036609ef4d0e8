//! Cancellation of threads by `pthread_cancel`, which is a signal to a thread that may be cancelled
//! asynchronously.
//!
//! The C library's handler unwinds the stack from the interrupted instruction. Inside the runtime,
//! that would leave locks taken, so the signal is deferred like others. Outside, the runtime's code
//! has nothing to undo, but Rust's frames cannot be unwound from every instruction. Where such
//! code was interrupted, the handler therefore sees the registers of the runtime's caller. Code of
//! the C library is unwound as it is, with the `extern "C-unwind"` functions that called it.

use std::ffi::{c_int, c_void};
use std::mem::zeroed;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::*};

use crate::real::real;
use crate::thread::inside::restore_word;
use crate::{modules, sys, tls, values};

/// Signal by which glibc cancels a thread. Its `sigaction` refuses the number.
const SIGCANCEL: c_int = 32;

/// State of a thread that is not cancelled.
const PTHREAD_CANCEL_DISABLE: c_int = 1;

/// Values of [`STATE`].
const UNKNOWN: u32 = 0;
const CHANGING: u32 = 1;
const CHANGED: u32 = 2;

static STATE: AtomicU32 = AtomicU32::new(UNKNOWN);
/// Handler of the C library.
static LIBRARY_HANDLER: AtomicUsize = AtomicUsize::new(0);
/// First address of the runtime's code, and one past the last.
static CODE: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// Action of a signal in the form of the system call.
#[repr(C)]
struct KernelAction {
    handler: usize,
    flags: u64,
    restorer: usize,
    mask: u64,
}

/// Puts the runtime's handler in front of the C library's, before the first signal is sent.
pub fn watch_cancellation() {
    while let Err(state) = STATE.compare_exchange(UNKNOWN, CHANGING, AcqRel, Acquire) {
        if state == CHANGED {
            return;
        }
        sys::relax();
    }
    let word = tls::word();
    tls::set_word(tls::INSIDE);
    let is_changed = install_library_handler() && replace_handler();
    STATE.store(if is_changed { CHANGED } else { UNKNOWN }, Release);
    restore_word(word);
}

/// Has the C library install its handler, which it does at the first cancellation: that of a thread
/// which cancels itself, and ends before the cancellation takes effect.
fn install_library_handler() -> bool {
    extern "C" fn cancel_self(_: *mut c_void) -> *mut c_void {
        // The thread is not the program's, and is not recorded.
        tls::set_word(tls::INSIDE);
        set_cancel_state(PTHREAD_CANCEL_DISABLE);
        if let Some(real) = real!(pthread_cancel: fn(libc::pthread_t) -> c_int) {
            // SAFETY: the calling thread, which is not cancelled while that is disabled.
            unsafe { real(libc::pthread_self()) };
        }
        null_mut()
    }
    let before = set_cancel_state(PTHREAD_CANCEL_DISABLE);
    // SAFETY: the thread gets no argument, and is joined.
    let is_made = unsafe {
        let mut thread = zeroed();
        libc::pthread_create(&mut thread, null(), cancel_self, null_mut()) == 0
            && libc::pthread_join(thread, null_mut()) == 0
    };
    set_cancel_state(before);
    is_made
}

/// Sets whether the calling thread can be cancelled. Returns the value before.
fn set_cancel_state(state: c_int) -> c_int {
    let mut before = 0;
    if let Some(real) = real!(pthread_setcancelstate: fn(c_int, *mut c_int) -> c_int) {
        // SAFETY: `before` is ours.
        unsafe { real(state, &mut before) };
    }
    before
}

fn replace_handler() -> bool {
    let Some(code) = modules::code_around(on_cancel as *const () as u64) else {
        return false;
    };
    CODE[0].store(code.start as usize, Relaxed);
    CODE[1].store(code.end as usize, Relaxed);
    // SAFETY: plain data, and system calls on it.
    unsafe {
        let mut action = zeroed::<KernelAction>();
        let bytes = size_of::<u64>();
        let call = |new: *const KernelAction, old: *mut KernelAction| {
            libc::syscall(libc::SYS_rt_sigaction, SIGCANCEL, new, old, bytes) == 0
        };
        if !call(null(), &mut action) || action.handler <= libc::SIG_IGN {
            return false;
        }
        LIBRARY_HANDLER.store(action.handler, Release);
        action.handler = on_cancel as *const () as usize;
        call(&action, null_mut())
    }
}

/// Returns true if `pc` is in the runtime.
fn is_runtime_code(pc: usize) -> bool {
    (CODE[0].load(Relaxed)..CODE[1].load(Relaxed)).contains(&pc)
}

/// Stands in for the C library's handler of cancellations.
unsafe extern "C-unwind" fn on_cancel(
    signal: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    // SAFETY: as the kernel passed them. The library's handler unwinds through this frame, which
    // has nothing to drop, or returns; then the interrupted code continues as it was.
    unsafe {
        if super::put_off(signal, info, context) {
            return;
        }
        values::forget_store();
        let registers = &raw mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        let interrupted = *registers;
        if is_runtime_code(interrupted[libc::REG_RIP as usize] as usize) {
            find_caller(&mut *registers);
        }
        let handler: unsafe extern "C-unwind" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
            std::mem::transmute(LIBRARY_HANDLER.load(Acquire));
        handler(signal, info, context);
        *registers = interrupted;
    }
}

/// Registers as a signal's context has them.
type Registers = [libc::greg_t; 23];

/// Registers that a function keeps for its caller, by their numbers in DWARF and in a context.
const KEPT: [(c_int, c_int); 6] = [
    (3, libc::REG_RBX),
    (6, libc::REG_RBP),
    (12, libc::REG_R12),
    (13, libc::REG_R13),
    (14, libc::REG_R14),
    (15, libc::REG_R15),
];

#[link(name = "gcc_s")]
unsafe extern "C" {
    fn _Unwind_Backtrace(
        visit: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(frame: *mut c_void) -> usize;
    fn _Unwind_GetCFA(frame: *mut c_void) -> usize;
    fn _Unwind_GetGR(frame: *mut c_void, register: c_int) -> usize;
}

/// Search for the caller of the interrupted runtime's code.
struct CallerSearch<'a> {
    registers: &'a mut Registers,
    /// The walk has passed the handlers, and reached the interrupted code.
    is_past_handlers: bool,
}

/// Changes the registers from those of interrupted code of the runtime to those of its caller.
unsafe fn find_caller(registers: &mut Registers) {
    /// Visits the next outer frame; does not return 0 at the last that is needed.
    unsafe extern "C" fn visit(frame: *mut c_void, search: *mut c_void) -> c_int {
        // SAFETY: the walk passes both, and the registers are those that all functions keep.
        unsafe {
            let search = &mut *search.cast::<CallerSearch<'_>>();
            let pc = _Unwind_GetIP(frame);
            if is_runtime_code(pc) || !search.is_past_handlers {
                search.is_past_handlers |= pc == search.registers[libc::REG_RIP as usize] as usize;
                return 0;
            }
            search.registers[libc::REG_RIP as usize] = pc as libc::greg_t;
            search.registers[libc::REG_RSP as usize] = _Unwind_GetCFA(frame) as libc::greg_t;
            for (number, place) in KEPT {
                search.registers[place as usize] = _Unwind_GetGR(frame, number) as libc::greg_t;
            }
            1
        }
    }
    let mut search = CallerSearch {
        registers,
        is_past_handlers: false,
    };
    // SAFETY: `visit` is called before this returns.
    unsafe { _Unwind_Backtrace(visit, (&raw mut search).cast()) };
}
