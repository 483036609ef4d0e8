//! One word of each thread, in static TLS: where its state is.
//!
//! 0: not known yet; 1: *inside* the runtime, or never to be watched; else a
//! [`Thread`](crate::thread::Thread). Entry points read it with two instructions; a thread-local of
//! Rust's would cost a call in a shared library.

use std::arch::{asm, global_asm};

/// The thread was not seen yet.
pub const NEW: usize = 0;
/// The thread is in the runtime, or is not watched.
pub const INSIDE: usize = 1;

global_asm!(
    ".pushsection .tbss,\"awT\",@nobits",
    ".balign 16",
    ".hidden relayout_rt_word",
    ".globl relayout_rt_word",
    ".type relayout_rt_word,@object",
    ".size relayout_rt_word, 8",
    "relayout_rt_word: .zero 8",
    ".hidden relayout_rt_thread",
    ".globl relayout_rt_thread",
    ".type relayout_rt_thread,@object",
    ".size relayout_rt_thread, 8",
    "relayout_rt_thread: .zero 8",
    ".popsection",
);

/// The calling thread's word.
#[inline(always)]
pub fn word() -> usize {
    let word: usize;
    // SAFETY: reads this thread's own variable, defined above.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + relayout_rt_word@GOTTPOFF]",
            "mov {0}, qword ptr fs:[{0}]",
            out(reg) word,
            options(nostack, preserves_flags, readonly),
        );
    }
    word
}

/// Sets the calling thread's word.
#[inline(always)]
pub fn set_word(word: usize) {
    // SAFETY: writes this thread's own variable, defined above.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + relayout_rt_word@GOTTPOFF]",
            "mov qword ptr fs:[{0}], {1}",
            out(reg) _,
            in(reg) word,
            options(nostack, preserves_flags),
        );
    }
}

/// The calling thread's [`Thread`](crate::thread::Thread), also while it is inside; 0 if it has none.
#[inline(always)]
pub fn thread() -> usize {
    let thread: usize;
    // SAFETY: reads this thread's own variable, defined above.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + relayout_rt_thread@GOTTPOFF]",
            "mov {0}, qword ptr fs:[{0}]",
            out(reg) thread,
            options(nostack, preserves_flags, readonly),
        );
    }
    thread
}

/// Sets what [`thread`] returns.
pub fn set_thread(thread: usize) {
    // SAFETY: writes this thread's own variable, defined above.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + relayout_rt_thread@GOTTPOFF]",
            "mov qword ptr fs:[{0}], {1}",
            out(reg) _,
            in(reg) thread,
            options(nostack, preserves_flags),
        );
    }
}
