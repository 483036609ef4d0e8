//! One word of each thread, in static TLS, that leads to the thread's state.
//!
//! The word is 0 before the thread is known, 1 while the thread is *inside* the runtime or never to
//! be recorded, and otherwise the address of a
//! [`RecordedThread`](crate::thread::state::RecordedThread). Entry points read it with two
//! instructions; a thread-local of Rust's would cost a call in a shared library.

use std::arch::{asm, global_asm};

/// Value of a thread that is not known yet.
pub const NEW: usize = 0;
/// Value of a thread that is inside the runtime, or is not recorded.
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

/// Returns the calling thread's word.
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

/// Returns the calling thread's [`RecordedThread`](crate::thread::state::RecordedThread), also
/// while it is inside; 0 if it has none.
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

/// Sets the result of [`thread`].
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
