//! `memcpy` and the like: ranges of memory whose length is known before the call.

#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "a block without a comment rests on the promise of the C library function's caller, whose arguments it passes on"
)]

use std::arch::asm;
use std::ffi::{c_int, c_void};

use crate::access::{READ, WRITE, touch};
use crate::announced::touch_called;
use crate::entry::sited;
use crate::real::real;

type Bytes = *mut c_void;

sited! {
    memcpy("rcx") => memcpy_at;
    memmove("rcx") => memmove_at;
    mempcpy("rcx") => mempcpy_at;
    __memcpy_chk("r8") => memcpy_chk_at;
    __memmove_chk("r8") => memmove_chk_at;
    __mempcpy_chk("r8") => mempcpy_chk_at;
    memset("rcx") => memset_at;
    __memset_chk("r8") => memset_chk_at;
    explicit_bzero("rdx") => explicit_bzero_at;
    bzero("rdx") => bzero_at;
    memcmp("rcx") => memcmp_at;
    bcmp("rcx") => memcmp_at;
    memchr("rcx") => memchr_at;
    memrchr("rcx") => memrchr_at;
    bcopy("rcx") => bcopy_at;
}

/// Copies ranges that may overlap, before the C library's function is known.
unsafe fn copy_bytes(to: Bytes, from: Bytes, n: usize) {
    // In assembly, so that the compiler does not turn it into a call of `memmove`. SAFETY: as
    // promised by the caller.
    unsafe {
        if (to as usize).wrapping_sub(from as usize) >= n {
            asm!("rep movsb", inout("rcx") n => _, inout("rdi") to => _, inout("rsi") from => _,
                options(nostack, preserves_flags));
        } else {
            asm!("std", "rep movsb", "cld", inout("rcx") n => _,
                inout("rdi") to.byte_add(n).byte_sub(1) => _,
                inout("rsi") from.byte_add(n).byte_sub(1) => _, options(nostack));
        }
    }
}

fn touch_copy(to: Bytes, from: Bytes, n: usize, pc: u64) {
    touch_called(from as u64, n, READ, pc);
    touch_called(to as u64, n, WRITE, pc);
}

pub unsafe extern "C-unwind" fn memcpy_at(to: Bytes, from: Bytes, n: usize, pc: u64) -> Bytes {
    touch_copy(to, from, n, pc);
    unsafe { plain_move(to, from, n) }
}

pub unsafe extern "C-unwind" fn memmove_at(to: Bytes, from: Bytes, n: usize, pc: u64) -> Bytes {
    touch_copy(to, from, n, pc);
    unsafe { plain_move(to, from, n) }
}

/// Calls the C library's `memmove`, which also serves as `memcpy`.
unsafe fn plain_move(to: Bytes, from: Bytes, n: usize) -> Bytes {
    unsafe {
        match real!(memmove: fn(Bytes, Bytes, usize) -> Bytes) {
            Some(real) => real(to, from, n),
            None => {
                copy_bytes(to, from, n);
                to
            }
        }
    }
}

unsafe extern "C-unwind" fn mempcpy_at(to: Bytes, from: Bytes, n: usize, pc: u64) -> Bytes {
    touch_copy(to, from, n, pc);
    unsafe { plain_move(to, from, n).byte_add(n) }
}

unsafe extern "C-unwind" fn bcopy_at(from: Bytes, to: Bytes, n: usize, pc: u64) {
    touch_copy(to, from, n, pc);
    unsafe { plain_move(to, from, n) };
}

unsafe extern "C-unwind" fn memcpy_chk_at(
    to: Bytes,
    from: Bytes,
    n: usize,
    room: usize,
    pc: u64,
) -> Bytes {
    touch_copy(to, from, n.min(room), pc);
    let real = real!(__memcpy_chk: fn(Bytes, Bytes, usize, usize) -> Bytes);
    unsafe { real.map_or(to, |real| real(to, from, n, room)) }
}

unsafe extern "C-unwind" fn memmove_chk_at(
    to: Bytes,
    from: Bytes,
    n: usize,
    room: usize,
    pc: u64,
) -> Bytes {
    touch_copy(to, from, n.min(room), pc);
    let real = real!(__memmove_chk: fn(Bytes, Bytes, usize, usize) -> Bytes);
    unsafe { real.map_or(to, |real| real(to, from, n, room)) }
}

unsafe extern "C-unwind" fn mempcpy_chk_at(
    to: Bytes,
    from: Bytes,
    n: usize,
    room: usize,
    pc: u64,
) -> Bytes {
    touch_copy(to, from, n.min(room), pc);
    let real = real!(__mempcpy_chk: fn(Bytes, Bytes, usize, usize) -> Bytes);
    unsafe { real.map_or(to, |real| real(to, from, n, room)) }
}

pub unsafe extern "C-unwind" fn memset_at(to: Bytes, byte: c_int, n: usize, pc: u64) -> Bytes {
    touch_called(to as u64, n, WRITE, pc);
    unsafe { plain_set(to, byte, n) }
}

unsafe fn plain_set(to: Bytes, byte: c_int, n: usize) -> Bytes {
    unsafe {
        match real!(memset: fn(Bytes, c_int, usize) -> Bytes) {
            Some(real) => real(to, byte, n),
            None => {
                asm!("rep stosb", inout("rcx") n => _, inout("rdi") to => _, in("al") byte as u8,
                    options(nostack, preserves_flags));
                to
            }
        }
    }
}

unsafe extern "C-unwind" fn memset_chk_at(
    to: Bytes,
    byte: c_int,
    n: usize,
    room: usize,
    pc: u64,
) -> Bytes {
    touch(to as u64, n.min(room), WRITE, pc);
    let real = real!(__memset_chk: fn(Bytes, c_int, usize, usize) -> Bytes);
    unsafe { real.map_or(to, |real| real(to, byte, n, room)) }
}

unsafe extern "C-unwind" fn explicit_bzero_at(to: Bytes, n: usize, pc: u64) {
    touch(to as u64, n, WRITE, pc);
    if let Some(real) = real!(explicit_bzero: fn(Bytes, usize)) {
        unsafe { real(to, n) };
    }
}

unsafe extern "C-unwind" fn bzero_at(to: Bytes, n: usize, pc: u64) {
    touch(to as u64, n, WRITE, pc);
    unsafe { plain_set(to, 0, n) };
}

/// Returns the number of bytes that a comparison has to read.
unsafe fn compared_bytes(a: Bytes, b: Bytes, n: usize) -> usize {
    let (a, b) = (a.cast::<u8>(), b.cast::<u8>());
    let mut at = 0;
    // SAFETY: as promised by the caller. Eight bytes at a time while they are equal.
    unsafe {
        while at + 8 <= n
            && a.add(at).cast::<u64>().read_unaligned() == b.add(at).cast::<u64>().read_unaligned()
        {
            at += 8;
        }
        while at < n {
            at += 1;
            if *a.add(at - 1) != *b.add(at - 1) {
                break;
            }
        }
    }
    at
}

unsafe extern "C-unwind" fn memcmp_at(a: Bytes, b: Bytes, n: usize, pc: u64) -> c_int {
    unsafe {
        if crate::gate::is_open() {
            let read = compared_bytes(a, b, n);
            touch(a as u64, read, READ, pc);
            touch(b as u64, read, READ, pc);
        }
        match real!(memcmp: fn(Bytes, Bytes, usize) -> c_int) {
            Some(real) => real(a, b, n),
            None => slow_compare(a.cast(), b.cast(), n),
        }
    }
}

unsafe fn slow_compare(a: *const u8, b: *const u8, n: usize) -> c_int {
    for at in 0..n {
        // SAFETY: as promised by the caller.
        let (a, b) = unsafe { (a.add(at).read_volatile(), b.add(at).read_volatile()) };
        if a != b {
            return c_int::from(a) - c_int::from(b);
        }
    }
    0
}

unsafe extern "C-unwind" fn memchr_at(at: Bytes, byte: c_int, n: usize, pc: u64) -> Bytes {
    let Some(real) = real!(memchr: fn(Bytes, c_int, usize) -> Bytes) else {
        return std::ptr::null_mut();
    };
    let found = unsafe { real(at, byte, n) };
    if !found.is_null() {
        touch(at as u64, found as usize - at as usize + 1, READ, pc);
    } else if n <= isize::MAX as usize {
        touch(at as u64, n, READ, pc);
    }
    found
}

unsafe extern "C-unwind" fn memrchr_at(at: Bytes, byte: c_int, n: usize, pc: u64) -> Bytes {
    let Some(real) = real!(memrchr: fn(Bytes, c_int, usize) -> Bytes) else {
        return std::ptr::null_mut();
    };
    let found = unsafe { real(at, byte, n) };
    let first = if found.is_null() { at } else { found };
    touch(first as u64, at as usize + n - first as usize, READ, pc);
    found
}
