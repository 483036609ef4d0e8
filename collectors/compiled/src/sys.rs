//! System calls and what is around them, without the C library's interposed functions.

use std::ffi::{CStr, c_char, c_int, c_void};

/// Keeps the program's `errno` while the runtime works.
pub struct SavedErrno(c_int);

impl SavedErrno {
    pub fn save() -> Self {
        // SAFETY: this thread's errno.
        Self(unsafe { *libc::__errno_location() })
    }
}

impl Drop for SavedErrno {
    fn drop(&mut self) {
        // SAFETY: this thread's errno.
        unsafe { *libc::__errno_location() = self.0 };
    }
}

pub fn errno() -> c_int {
    // SAFETY: this thread's errno.
    unsafe { *libc::__errno_location() }
}

/// Maps memory readable and writable, by the system call since `mmap` is interposed.
///
/// # Safety
/// With `MAP_FIXED`, the memory at `at` has to be the caller's to replace.
pub unsafe fn map(
    at: *const c_void,
    bytes: usize,
    flags: c_int,
    file: c_int,
) -> Result<*mut u8, c_int> {
    // The system takes whole words; of a shorter one that lies on the stack, as the offset does,
    // half is whatever was there.
    let offset: libc::off_t = 0;
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: as promised by the caller.
    match unsafe { libc::syscall(libc::SYS_mmap, at, bytes, rights, flags, file, offset) } {
        -1 => Err(errno()),
        at => Ok(at as *mut u8),
    }
}

/// Fresh zeroed memory; `None` if there is none.
pub fn zeroed(bytes: usize) -> Option<*mut u8> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a fresh private mapping.
    unsafe { map(std::ptr::null(), bytes, flags, -1) }.ok()
}

/// Gives memory of [`zeroed`] back.
///
/// # Safety
/// Nothing may use it any more.
pub unsafe fn unmap(at: *mut u8, bytes: usize) {
    // SAFETY: as promised by the caller.
    unsafe { libc::syscall(libc::SYS_munmap, at, bytes) };
}

/// Asks that memory of [`zeroed`] be in huge pages where it can; small ones do, too.
pub fn ask_for_huge_pages(at: *mut u8, bytes: usize) {
    // SAFETY: changes nothing of what is in the memory.
    unsafe { libc::syscall(libc::SYS_madvise, at, bytes, libc::MADV_HUGEPAGE) };
}

/// Monotonic time.
pub fn now_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// CPU time of the process.
pub fn cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// CPU time of the calling thread.
pub fn thread_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is ours.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

pub fn pid() -> u32 {
    // SAFETY: no arguments. Not cached, so right in a child that shares our memory.
    unsafe { libc::syscall(libc::SYS_getpid) as u32 }
}

pub fn tid() -> u32 {
    // SAFETY: no arguments.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

/// Lets another thread run.
pub fn relax() {
    // SAFETY: no arguments.
    unsafe { libc::syscall(libc::SYS_sched_yield) };
}

/// Writes to standard error.
pub fn complain(parts: &[&[u8]]) {
    let mut text = crate::text::FixedText::<512>::new();
    text.push(b"relayout: ");
    for part in parts {
        text.push(part);
    }
    text.push(b"\n");
    let bytes = text.bytes();
    // SAFETY: the bytes are ours.
    unsafe { libc::syscall(libc::SYS_write, 2, bytes.as_ptr(), bytes.len()) };
}

/// A variable of the environment.
pub fn env(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: a C string; the environment is not changed while the runtime starts.
    let value: *mut c_char = unsafe { libc::getenv(name.as_ptr()) };
    // SAFETY: not null, and a C string of the environment's.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
}

pub const MEMBARRIER_PRIVATE_EXPEDITED: c_int = 1 << 3;
pub const MEMBARRIER_REGISTER_PRIVATE_EXPEDITED: c_int = 1 << 4;

/// `membarrier(2)`; whether it worked.
pub fn membarrier(command: c_int) -> bool {
    // SAFETY: takes no pointer.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// The next definition of `name` after ours in the order of symbols.
pub fn next_symbol(name: &CStr) -> *mut c_void {
    // Until glibc 2.3.2 the condition variables were others, and the old ones are still there.
    let old = name.to_bytes().starts_with(b"pthread_cond_");
    if old {
        // SAFETY: C strings.
        let at = unsafe { libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), c"GLIBC_2.3.2".as_ptr()) };
        if !at.is_null() {
            return at;
        }
    }
    // SAFETY: a C string.
    unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) }
}
