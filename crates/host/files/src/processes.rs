//! What the processes that are started have in common.

use std::io;

/// Asks for the calling process to be killed when the thread that started it ends; fails if
/// `parent`, the process of that thread, is gone already. Async-signal-safe.
pub fn die_with_parent(parent: u32) -> io::Result<()> {
    // SAFETY: plain system calls.
    unsafe {
        if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
            return Err(io::Error::last_os_error());
        }
        if libc::getppid() != parent as i32 {
            return Err(io::Error::other("relayout is gone"));
        }
    }
    Ok(())
}
