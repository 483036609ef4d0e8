//! System calls, and functions of the C library that are not interposed.

use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::interpose::limits::note_shortage;

/// The program's `errno`, restored when the runtime is done.
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

/// Maps readable and writable memory, by the system call, since `mmap` is interposed.
///
/// # Safety
/// With `MAP_FIXED`, the memory at `at` must be the caller's to replace.
pub unsafe fn map(
    at: *const c_void,
    bytes: usize,
    flags: c_int,
    file: c_int,
) -> Result<*mut u8, c_int> {
    // The kernel reads whole words. A shorter variable on the stack would pass garbage in its other
    // half.
    let offset: libc::off_t = 0;
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: as promised by the caller.
    match unsafe { libc::syscall(libc::SYS_mmap, at, bytes, rights, flags, file, offset) } {
        -1 => Err(errno()),
        at => Ok(at as *mut u8),
    }
}

/// Bytes of the mappings of [`zeroed`].
static MAPPED_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Returns the bytes of memory that the runtime has mapped.
pub fn mapped_bytes() -> u64 {
    MAPPED_BYTES.load(Relaxed) as u64
}

/// Returns fresh zeroed memory; `None` if memory is exhausted.
pub fn zeroed(bytes: usize) -> Option<*mut u8> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new private mapping.
    let Ok(at) = (unsafe { map(std::ptr::null(), bytes, flags, -1) }) else {
        note_shortage();
        return None;
    };
    MAPPED_BYTES.fetch_add(bytes, Relaxed);
    Some(at)
}

/// Unmaps memory of [`zeroed`].
///
/// # Safety
/// Nothing may use the memory any more.
pub unsafe fn unmap(at: *mut u8, bytes: usize) {
    // SAFETY: as promised by the caller.
    unsafe { libc::syscall(libc::SYS_munmap, at, bytes) };
    MAPPED_BYTES.fetch_sub(bytes, Relaxed);
}

/// Asks the system for huge pages for memory of [`zeroed`]. The memory works without them.
pub fn ask_for_huge_pages(at: *mut u8, bytes: usize) {
    // SAFETY: does not change the contents of the memory.
    unsafe { libc::syscall(libc::SYS_madvise, at, bytes, libc::MADV_HUGEPAGE) };
}

/// Returns the monotonic time.
pub fn now_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// Returns the CPU time of the process.
pub fn cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// Returns the CPU time of the calling thread.
pub fn thread_cpu_ns() -> u64 {
    let mut time = ZERO_TIME;
    let arguments = [
        libc::CLOCK_THREAD_CPUTIME_ID as u64,
        &raw mut time as u64,
        0,
        0,
    ];
    // SAFETY: the kernel writes to `time` only.
    unsafe { plain_call(libc::SYS_clock_gettime, arguments) };
    time_ns(time)
}

/// Returns the time since the system was booted, on the clock by which it dates processes.
pub fn boot_ns() -> u64 {
    clock_ns(libc::CLOCK_BOOTTIME)
}

fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = ZERO_TIME;
    // SAFETY: the kernel writes to `time` only.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time_ns(time)
}

const ZERO_TIME: libc::timespec = libc::timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

fn time_ns(time: libc::timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

pub fn pid() -> u32 {
    // SAFETY: no arguments. The value is not cached, so it is right in a child that shares this
    // memory.
    unsafe { libc::syscall(libc::SYS_getpid) as u32 }
}

pub fn parent_pid() -> u32 {
    // SAFETY: no arguments.
    unsafe { libc::syscall(libc::SYS_getppid) as u32 }
}

pub fn tid() -> u32 {
    // SAFETY: no arguments.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

/// Lets another thread run.
pub fn relax() {
    // SAFETY: no arguments.
    unsafe { plain_call(libc::SYS_sched_yield, [0; 4]) };
}

/// Suspends this thread for so many milliseconds, or until a signal arrives.
pub fn sleep_ms(milliseconds: u32) {
    let time = libc::timespec {
        tv_sec: i64::from(milliseconds / 1000),
        tv_nsec: i64::from(milliseconds % 1000) * 1_000_000,
    };
    // SAFETY: the time outlives the call.
    unsafe { plain_call(libc::SYS_nanosleep, [&raw const time as u64, 0, 0, 0]) };
}

/// Makes a system call without the C library's code, for callers outside the runtime: a thread that
/// is cancelled in the call is in the runtime's code. Returns the kernel's value.
///
/// # Safety
/// The same as of the system call.
#[inline(always)]
pub unsafe fn plain_call(number: c_long, arguments: [u64; 4]) -> i64 {
    let result;
    // SAFETY: as promised by the caller.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") arguments[0],
            in("rsi") arguments[1],
            in("rdx") arguments[2],
            in("r10") arguments[3],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// Sets the calling thread's signal mask. Returns the mask before.
pub fn set_signal_mask(mask: u64) -> u64 {
    let (mut before, how) = (0u64, libc::SIG_SETMASK as u64);
    let [new, old] = [&raw const mask as u64, &raw mut before as u64];
    // SAFETY: the kernel accesses the two masks, of 8 bytes each.
    unsafe { plain_call(libc::SYS_rt_sigprocmask, [how, new, old, 8]) };
    before
}

/// Writes a message to standard error.
pub fn complain(parts: &[&[u8]]) {
    let mut text = crate::text::FixedText::<512>::new();
    text.push(b"relayout: ");
    for part in parts {
        text.push(part);
    }
    text.push(b"\n");
    let bytes = text.bytes();
    // SAFETY: the kernel only reads the bytes.
    unsafe { libc::syscall(libc::SYS_write, 2, bytes.as_ptr(), bytes.len()) };
}

unsafe extern "C" {
    /// Returns null in a program that has more rights than the user who started it.
    safe fn secure_getenv(name: *const c_char) -> *mut c_char;
}

/// Returns a variable of the environment; `None` if the program has more rights than its user.
pub fn env(name: &CStr) -> Option<&'static CStr> {
    let value = secure_getenv(name.as_ptr());
    // SAFETY: not null, and a C string of the environment.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
}

pub const MEMBARRIER_PRIVATE_EXPEDITED: c_int = 1 << 3;
pub const MEMBARRIER_REGISTER_PRIVATE_EXPEDITED: c_int = 1 << 4;

/// Calls `membarrier(2)`. Returns true on success.
pub fn membarrier(command: c_int) -> bool {
    // SAFETY: takes no pointer.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Returns the next definition of `name` after the runtime's in the order of symbols.
pub fn next_symbol(name: &CStr) -> *mut c_void {
    // glibc 2.3.2 replaced the condition variables, and still has the old ones.
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
