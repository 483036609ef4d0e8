//! `str*`: the bytes read follow from the result.

#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "a block without a comment rests on the promise of the C library function's caller, whose arguments it passes on"
)]

use std::ffi::{c_char, c_int};
use std::ptr::null_mut;

use crate::access::{READ, WRITE, touch};
use crate::entry::sited;
use crate::gate;
use crate::real::real;

type Str = *mut c_char;

sited! {
    strlen("rsi") => strlen_at;
    strnlen("rdx") => strnlen_at;
    strcpy("rdx") => strcpy_at;
    stpcpy("rdx") => stpcpy_at;
    strncpy("rcx") => strncpy_at;
    strcat("rdx") => strcat_at;
    strncat("rcx") => strncat_at;
    __strcpy_chk("rcx") => strcpy_chk_at;
    __stpcpy_chk("rcx") => stpcpy_chk_at;
    __strncpy_chk("r8") => strncpy_chk_at;
    __strcat_chk("rcx") => strcat_chk_at;
    strcmp("rdx") => strcmp_at;
    strncmp("rcx") => strncmp_at;
    strcasecmp("rdx") => strcasecmp_at;
    strncasecmp("rcx") => strncasecmp_at;
    strchr("rdx") => strchr_at;
    strrchr("rdx") => strrchr_at;
    strstr("rdx") => strstr_at;
}

/// Returns the length of a string, by the C library.
unsafe fn length(s: Str) -> usize {
    match real!(strlen: fn(Str) -> usize) {
        // SAFETY: as promised by the caller.
        Some(real) => unsafe { real(s) },
        None => {
            let mut n = 0;
            // SAFETY: as promised by the caller. Volatile, so that the compiler does not turn it
            // into a call of `strlen`.
            while unsafe { s.add(n).read_volatile() } != 0 {
                n += 1;
            }
            n
        }
    }
}

unsafe fn length_within(s: Str, max: usize) -> usize {
    let real = real!(strnlen: fn(Str, usize) -> usize);
    // SAFETY: as promised by the caller.
    real.map_or(0, |real| unsafe { real(s, max) })
}

fn touch_read(s: Str, bytes: usize, pc: u64) {
    touch(s as u64, bytes, READ, pc);
}

fn touch_write(s: Str, bytes: usize, pc: u64) {
    touch(s as u64, bytes, WRITE, pc);
}

unsafe extern "C-unwind" fn strlen_at(s: Str, pc: u64) -> usize {
    let len = unsafe { length(s) };
    touch_read(s, len + 1, pc);
    len
}

unsafe extern "C-unwind" fn strnlen_at(s: Str, max: usize, pc: u64) -> usize {
    let len = unsafe { length_within(s, max) };
    touch_read(s, len + usize::from(len < max), pc);
    len
}

/// Records a copy of the string `from`, with its end, to `to`.
unsafe fn touch_copy(to: Str, from: Str, pc: u64) {
    if gate::is_open() {
        // SAFETY: as promised by the caller.
        let bytes = unsafe { length(from) } + 1;
        touch_read(from, bytes, pc);
        touch_write(to, bytes, pc);
    }
}

unsafe extern "C-unwind" fn strcpy_at(to: Str, from: Str, pc: u64) -> Str {
    unsafe {
        touch_copy(to, from, pc);
        real!(strcpy: fn(Str, Str) -> Str).map_or(null_mut(), |real| real(to, from))
    }
}

unsafe extern "C-unwind" fn stpcpy_at(to: Str, from: Str, pc: u64) -> Str {
    unsafe {
        touch_copy(to, from, pc);
        real!(stpcpy: fn(Str, Str) -> Str).map_or(null_mut(), |real| real(to, from))
    }
}

unsafe extern "C-unwind" fn strcpy_chk_at(to: Str, from: Str, room: usize, pc: u64) -> Str {
    unsafe {
        touch_copy(to, from, pc);
        let real = real!(__strcpy_chk: fn(Str, Str, usize) -> Str);
        real.map_or(null_mut(), |real| real(to, from, room))
    }
}

unsafe extern "C-unwind" fn stpcpy_chk_at(to: Str, from: Str, room: usize, pc: u64) -> Str {
    unsafe {
        touch_copy(to, from, pc);
        let real = real!(__stpcpy_chk: fn(Str, Str, usize) -> Str);
        real.map_or(null_mut(), |real| real(to, from, room))
    }
}

unsafe fn touch_copy_within(to: Str, from: Str, n: usize, pc: u64) {
    if gate::is_open() {
        // SAFETY: as promised by the caller.
        let len = unsafe { length_within(from, n) };
        touch_read(from, len + usize::from(len < n), pc);
        // The rest of `to` is filled with zeros.
        touch_write(to, n, pc);
    }
}

unsafe extern "C-unwind" fn strncpy_at(to: Str, from: Str, n: usize, pc: u64) -> Str {
    unsafe {
        touch_copy_within(to, from, n, pc);
        real!(strncpy: fn(Str, Str, usize) -> Str).map_or(null_mut(), |real| real(to, from, n))
    }
}

unsafe extern "C-unwind" fn strncpy_chk_at(
    to: Str,
    from: Str,
    n: usize,
    room: usize,
    pc: u64,
) -> Str {
    unsafe {
        touch_copy_within(to, from, n, pc);
        let real = real!(__strncpy_chk: fn(Str, Str, usize, usize) -> Str);
        real.map_or(null_mut(), |real| real(to, from, n, room))
    }
}

/// Records that at most `n` bytes of `from` are appended to `to`.
unsafe fn touch_join(to: Str, from: Str, n: usize, pc: u64) {
    if gate::is_open() {
        // SAFETY: as promised by the caller.
        let (old, new) = unsafe { (length(to), length_within(from, n)) };
        touch_read(to, old + 1, pc);
        touch_read(from, new + usize::from(new < n), pc);
        touch_write(to.wrapping_add(old), new + 1, pc);
    }
}

unsafe extern "C-unwind" fn strcat_at(to: Str, from: Str, pc: u64) -> Str {
    unsafe {
        touch_join(to, from, usize::MAX, pc);
        real!(strcat: fn(Str, Str) -> Str).map_or(null_mut(), |real| real(to, from))
    }
}

unsafe extern "C-unwind" fn strncat_at(to: Str, from: Str, n: usize, pc: u64) -> Str {
    unsafe {
        touch_join(to, from, n, pc);
        real!(strncat: fn(Str, Str, usize) -> Str).map_or(null_mut(), |real| real(to, from, n))
    }
}

unsafe extern "C-unwind" fn strcat_chk_at(to: Str, from: Str, room: usize, pc: u64) -> Str {
    unsafe {
        touch_join(to, from, usize::MAX, pc);
        let real = real!(__strcat_chk: fn(Str, Str, usize) -> Str);
        real.map_or(null_mut(), |real| real(to, from, room))
    }
}

/// Records a comparison of at most `n` bytes, up to the first difference.
unsafe fn touch_comparison(a: Str, b: Str, n: usize, any_case: bool, pc: u64) {
    if !gate::is_open() {
        return;
    }
    let fold = |c: c_char| {
        if any_case {
            (c as u8).to_ascii_lowercase()
        } else {
            c as u8
        }
    };
    let mut at = 0;
    while at < n {
        // SAFETY: as promised by the caller; no end was found so far.
        let (x, y) = unsafe { (*a.add(at), *b.add(at)) };
        at += 1;
        if x == 0 || fold(x) != fold(y) {
            break;
        }
    }
    touch_read(a, at, pc);
    touch_read(b, at, pc);
}

unsafe extern "C-unwind" fn strcmp_at(a: Str, b: Str, pc: u64) -> c_int {
    unsafe {
        touch_comparison(a, b, usize::MAX, false, pc);
        real!(strcmp: fn(Str, Str) -> c_int).map_or(0, |real| real(a, b))
    }
}

unsafe extern "C-unwind" fn strncmp_at(a: Str, b: Str, n: usize, pc: u64) -> c_int {
    unsafe {
        touch_comparison(a, b, n, false, pc);
        real!(strncmp: fn(Str, Str, usize) -> c_int).map_or(0, |real| real(a, b, n))
    }
}

unsafe extern "C-unwind" fn strcasecmp_at(a: Str, b: Str, pc: u64) -> c_int {
    unsafe {
        touch_comparison(a, b, usize::MAX, true, pc);
        real!(strcasecmp: fn(Str, Str) -> c_int).map_or(0, |real| real(a, b))
    }
}

unsafe extern "C-unwind" fn strncasecmp_at(a: Str, b: Str, n: usize, pc: u64) -> c_int {
    unsafe {
        touch_comparison(a, b, n, true, pc);
        real!(strncasecmp: fn(Str, Str, usize) -> c_int).map_or(0, |real| real(a, b, n))
    }
}

unsafe extern "C-unwind" fn strchr_at(s: Str, c: c_int, pc: u64) -> Str {
    unsafe {
        let real = real!(strchr: fn(Str, c_int) -> Str);
        let found = real.map_or(null_mut(), |real| real(s, c));
        if gate::is_open() {
            let bytes = if found.is_null() {
                length(s)
            } else {
                found as usize - s as usize
            };
            touch_read(s, bytes + 1, pc);
        }
        found
    }
}

unsafe extern "C-unwind" fn strrchr_at(s: Str, c: c_int, pc: u64) -> Str {
    unsafe {
        if gate::is_open() {
            touch_read(s, length(s) + 1, pc);
        }
        real!(strrchr: fn(Str, c_int) -> Str).map_or(null_mut(), |real| real(s, c))
    }
}

unsafe extern "C-unwind" fn strstr_at(s: Str, part: Str, pc: u64) -> Str {
    unsafe {
        let real = real!(strstr: fn(Str, Str) -> Str);
        let found = real.map_or(null_mut(), |real| real(s, part));
        if gate::is_open() {
            let part_bytes = length(part);
            let bytes = if found.is_null() {
                length(s) + 1
            } else {
                found as usize - s as usize + part_bytes
            };
            touch_read(s, bytes, pc);
            touch_read(part, part_bytes + 1, pc);
        }
        found
    }
}
