//! The malloc family: address, size and caller of each allocation.
//!
//! `dlsym`, which looks up the C library's functions, may itself allocate. Until it is done, a
//! small fixed area serves.

#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "a block without a comment rests on the promise of the C library function's caller, whose arguments it passes on"
)]

use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering::*};

use crate::gate::control;
use crate::real::real;
use crate::stack::CallerFrame;
use crate::{allocs, recording, thread};

type Bytes = *mut c_void;

/// Defines entry points that pass return address and frame pointer in two registers past the
/// arguments.
macro_rules! called {
    ($($name:ident($pc:literal, $frame:literal) => $body:path;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            ::std::arch::naked_asm!(
                ".cfi_startproc",
                concat!("mov ", $pc, ", qword ptr [rsp]"),
                concat!("mov ", $frame, ", rbp"),
                "jmp {body}",
                ".cfi_endproc",
                body = sym $body,
            )
        }
    )*};
}
pub(crate) use called;

called! {
    malloc("rsi", "rdx") => malloc_for;
    calloc("rdx", "rcx") => calloc_for;
    realloc("rdx", "rcx") => realloc_for;
    reallocarray("rcx", "r8") => reallocarray_for;
    memalign("rdx", "rcx") => memalign_for;
    aligned_alloc("rdx", "rcx") => memalign_for;
    posix_memalign("rcx", "r8") => posix_memalign_for;
    valloc("rsi", "rdx") => valloc_for;
    pvalloc("rsi", "rdx") => pvalloc_for;
    strdup("rsi", "rdx") => strdup_for;
    __strdup("rsi", "rdx") => strdup_for;
    strndup("rdx", "rcx") => strndup_for;
    // `operator new` and `new[]`: plain, nothrow, aligned, both.
    _Znwm("rsi", "rdx") => new_for;
    _Znam("rsi", "rdx") => new_array_for;
    _ZnwmRKSt9nothrow_t("rdx", "rcx") => new_nothrow_for;
    _ZnamRKSt9nothrow_t("rdx", "rcx") => new_array_nothrow_for;
    _ZnwmSt11align_val_t("rdx", "rcx") => new_aligned_for;
    _ZnamSt11align_val_t("rdx", "rcx") => new_array_aligned_for;
    _ZnwmSt11align_val_tRKSt9nothrow_t("rcx", "r8") => new_aligned_nothrow_for;
    _ZnamSt11align_val_tRKSt9nothrow_t("rcx", "r8") => new_array_aligned_nothrow_for;
}

const EARLY_BYTES: usize = 64 * 1024;

#[repr(align(16))]
struct EarlyHeap(std::cell::UnsafeCell<[u8; EARLY_BYTES]>);
// SAFETY: each piece is given to one caller only.
unsafe impl Sync for EarlyHeap {}
static EARLY: EarlyHeap = EarlyHeap(std::cell::UnsafeCell::new([0; EARLY_BYTES]));
static EARLY_USED: AtomicUsize = AtomicUsize::new(0);

fn allocate_early(bytes: usize, align: usize) -> Bytes {
    let align = align.clamp(16, 4096);
    // The size is stored in front, for `realloc`.
    let Some(room) = bytes.checked_add(16 + align) else {
        return null_mut();
    };
    let room = room.next_multiple_of(16);
    let at = EARLY_USED.fetch_add(room, Relaxed);
    if at.saturating_add(room) > EARLY_BYTES {
        return null_mut();
    }
    let start = (EARLY.0.get() as usize + at + 16).next_multiple_of(align);
    // SAFETY: within the piece.
    unsafe { ((start - 16) as *mut usize).write(bytes) };
    start as Bytes
}

fn is_early(at: Bytes) -> bool {
    (at as usize).wrapping_sub(EARLY.0.get() as usize) < EARLY_BYTES
}

/// Records an allocation and returns its address.
#[inline]
fn record_allocation(at: Bytes, bytes: usize, pc: u64, frame: u64) -> Bytes {
    if !at.is_null()
        && recording::is_recorded()
        && let Some(inside) = thread::enter()
    {
        allocs::add_heap(&inside, at as u64, bytes as u64, CallerFrame { pc, frame });
    }
    at
}

/// Records a free. Returns the size if it is known.
#[inline]
fn record_free(at: Bytes) -> Option<u64> {
    if at.is_null() || !recording::is_recorded() {
        return None;
    }
    let _inside = thread::enter()?;
    allocs::remove_heap(at as u64)
}

unsafe extern "C-unwind" fn malloc_for(bytes: usize, pc: u64, frame: u64) -> Bytes {
    match real!(malloc: fn(usize) -> Bytes) {
        Some(real) => record_allocation(unsafe { real(bytes) }, bytes, pc, frame),
        None => allocate_early(bytes, 16),
    }
}

unsafe extern "C-unwind" fn calloc_for(n: usize, each: usize, pc: u64, frame: u64) -> Bytes {
    match real!(calloc: fn(usize, usize) -> Bytes) {
        Some(real) => record_allocation(unsafe { real(n, each) }, n.wrapping_mul(each), pc, frame),
        None => n
            .checked_mul(each)
            .map_or(null_mut(), |bytes| allocate_early(bytes, 16)),
    }
}

unsafe extern "C-unwind" fn realloc_for(at: Bytes, bytes: usize, pc: u64, frame: u64) -> Bytes {
    if is_early(at) {
        unsafe {
            let old = ((at as usize - 16) as *const usize).read();
            let new = malloc_for(bytes, pc, frame);
            if !new.is_null() {
                super::memory::memcpy_at(new, at, old.min(bytes), pc);
            }
            return new;
        }
    }
    let Some(real) = real!(realloc: fn(Bytes, usize) -> Bytes) else {
        return if at.is_null() {
            allocate_early(bytes, 16)
        } else {
            null_mut()
        };
    };
    // Before the memory is freed, since another thread may get the same address afterwards.
    let old = record_free(at);
    let new = unsafe { real(at, bytes) };
    match old {
        // The call failed and freed nothing.
        Some(old) if new.is_null() && bytes != 0 => {
            record_allocation(at, old as usize, pc, frame);
        }
        _ => {
            record_allocation(new, bytes, pc, frame);
        }
    }
    new
}

unsafe extern "C-unwind" fn reallocarray_for(
    at: Bytes,
    n: usize,
    each: usize,
    pc: u64,
    frame: u64,
) -> Bytes {
    match n.checked_mul(each) {
        Some(bytes) => unsafe { realloc_for(at, bytes, pc, frame) },
        None => {
            // SAFETY: this thread's errno.
            unsafe { *libc::__errno_location() = libc::ENOMEM };
            null_mut()
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn free(at: Bytes) {
    if at.is_null() || is_early(at) {
        return;
    }
    record_free(at);
    if let Some(real) = real!(free: fn(Bytes)) {
        unsafe { real(at) };
    }
}

unsafe extern "C-unwind" fn memalign_for(align: usize, bytes: usize, pc: u64, frame: u64) -> Bytes {
    match real!(memalign: fn(usize, usize) -> Bytes) {
        Some(real) => record_allocation(unsafe { real(align, bytes) }, bytes, pc, frame),
        None => allocate_early(bytes, align),
    }
}

unsafe extern "C-unwind" fn posix_memalign_for(
    to: *mut Bytes,
    align: usize,
    bytes: usize,
    pc: u64,
    frame: u64,
) -> c_int {
    let real = real!(posix_memalign: fn(*mut Bytes, usize, usize) -> c_int);
    let Some(real) = real else {
        return libc::ENOMEM;
    };
    let result = unsafe { real(to, align, bytes) };
    if result == 0 {
        record_allocation(unsafe { *to }, bytes, pc, frame);
    }
    result
}

unsafe extern "C-unwind" fn valloc_for(bytes: usize, pc: u64, frame: u64) -> Bytes {
    let real = real!(valloc: fn(usize) -> Bytes);
    real.map_or(null_mut(), |real| {
        record_allocation(unsafe { real(bytes) }, bytes, pc, frame)
    })
}

unsafe extern "C-unwind" fn pvalloc_for(bytes: usize, pc: u64, frame: u64) -> Bytes {
    let real = real!(pvalloc: fn(usize) -> Bytes);
    real.map_or(null_mut(), |real| {
        record_allocation(
            unsafe { real(bytes) },
            bytes.next_multiple_of(4096),
            pc,
            frame,
        )
    })
}

/// Attributes allocations that `allocate` makes to the caller of the interposed function.
unsafe fn on_behalf(pc: u64, frame: u64, allocate: impl FnOnce() -> Bytes) -> Bytes {
    /// Ends the attribution, also when `operator new` throws.
    struct CallerReset;
    impl Drop for CallerReset {
        fn drop(&mut self) {
            set_caller(None);
        }
    }
    fn set_caller(caller: Option<CallerFrame>) {
        if recording::is_recorded()
            && let Some(inside) = thread::enter()
        {
            inside.0.allocates_for = caller;
        }
    }
    set_caller(Some(CallerFrame { pc, frame }));
    let _reset = CallerReset;
    allocate()
}

macro_rules! on_behalf {
    ($($body:ident = $real:ident($($arg:ident: $ty:ty),*);)*) => {$(
        unsafe extern "C-unwind" fn $body($($arg: $ty,)* pc: u64, frame: u64) -> Bytes {
            let real = real!($real: fn($($ty),*) -> Bytes);
            real.map_or(null_mut(), |real| unsafe {
                on_behalf(pc, frame, || real($($arg),*))
            })
        }
    )*};
}

on_behalf! {
    strdup_for = strdup(s: *mut c_char);
    strndup_for = strndup(s: *mut c_char, n: usize);
    new_for = _Znwm(bytes: usize);
    new_array_for = _Znam(bytes: usize);
    new_nothrow_for = _ZnwmRKSt9nothrow_t(bytes: usize, tag: Bytes);
    new_array_nothrow_for = _ZnamRKSt9nothrow_t(bytes: usize, tag: Bytes);
    new_aligned_for = _ZnwmSt11align_val_t(bytes: usize, align: usize);
    new_array_aligned_for = _ZnamSt11align_val_t(bytes: usize, align: usize);
    new_aligned_nothrow_for = _ZnwmSt11align_val_tRKSt9nothrow_t(bytes: usize, align: usize, tag: Bytes);
    new_array_aligned_nothrow_for =
        _ZnamSt11align_val_tRKSt9nothrow_t(bytes: usize, align: usize, tag: Bytes);
}

called! {
    mmap("r10", "r11") => mmap_shuffle;
    mmap64("r10", "r11") => mmap_shuffle;
}

/// Pushes the return address, since the six arguments of `mmap` leave no register that a Rust
/// function would read.
#[unsafe(naked)]
unsafe extern "C" fn mmap_shuffle() {
    std::arch::naked_asm!(
        ".cfi_startproc",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "push r11",
        ".cfi_adjust_cfa_offset 8",
        "push r10",
        ".cfi_adjust_cfa_offset 8",
        "call {body}",
        "add rsp, 24",
        ".cfi_adjust_cfa_offset -24",
        "ret",
        ".cfi_endproc",
        body = sym mmap_for,
    )
}

unsafe extern "C-unwind" fn mmap_for(
    wish: Bytes,
    bytes: usize,
    rights: c_int,
    flags: c_int,
    file: c_int,
    offset: i64,
    pc: u64,
    frame: u64,
) -> Bytes {
    let real = real!(mmap: fn(Bytes, usize, c_int, c_int, c_int, i64) -> Bytes);
    let Some(real) = real else {
        return libc::MAP_FAILED;
    };
    let at = unsafe { real(wish, bytes, rights, flags, file, offset) };
    if at != libc::MAP_FAILED {
        record_allocation(at, bytes, pc, frame);
        let shared = libc::MAP_SHARED & flags != 0 && rights & libc::PROT_WRITE != 0;
        if shared && recording::is_recorded() {
            control().shared_mappings.fetch_add(1, Relaxed);
        }
    }
    at
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn munmap(at: Bytes, bytes: usize) -> c_int {
    record_free(at);
    let real = real!(munmap: fn(Bytes, usize) -> c_int);
    real.map_or(-1, |real| unsafe { real(at, bytes) })
}
