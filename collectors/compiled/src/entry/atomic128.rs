//! Atomic operations of 128 bits, by `cmpxchg16b`, which every x86-64 processor since 2006 has.

#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "a block without a comment rests on the promise of the caller: an aligned object of 16 bytes"
)]

use std::arch::asm;

use super::sited;
use crate::access::{READ, READ_WRITE, WRITE, tell_exchange, touch, touch_atomic, touch_exchange};
use crate::values::tell_effect;

/// Stores `new` if `at` holds `expected`. Returns the old value.
///
/// # Safety
/// `at` is writable and a multiple of 16.
unsafe fn swap_if(at: *mut u128, expected: u128, new: u128) -> u128 {
    let (low, high): (u64, u64);
    // SAFETY: as promised by the caller. rbx belongs to LLVM, so it is restored.
    unsafe {
        asm!(
            "xchg rsi, rbx",
            "lock cmpxchg16b xmmword ptr [rdi]",
            "mov rbx, rsi",
            in("rdi") at,
            inout("rsi") new as u64 => _,
            in("rcx") (new >> 64) as u64,
            inout("rax") expected as u64 => low,
            inout("rdx") (expected >> 64) as u64 => high,
            options(nostack),
        );
    }
    u128::from(high) << 64 | u128::from(low)
}

/// # Safety
/// The same as of [`swap_if`].
unsafe fn update(at: *mut u128, pc: u64, new: impl Fn(u128) -> u128) -> u128 {
    // SAFETY: as promised by the caller.
    unsafe { update_as(READ_WRITE, at, pc, new) }
}

unsafe fn update_as(kind: u8, at: *mut u128, pc: u64, new: impl Fn(u128) -> u128) -> u128 {
    touch_atomic(at as u64, 16, kind, pc);
    let mut seen = 0;
    loop {
        let after = new(seen);
        // SAFETY: as promised by the caller.
        let found = unsafe { swap_if(at, seen, after) };
        if found == seen {
            tell_effect(at as u64, after == found);
            return found;
        }
        seen = found;
    }
}

unsafe extern "C" fn load(a: *mut u128, pc: u64) -> u128 {
    touch(a as u64, 16, READ, pc);
    // The load stores the old value, as in libatomic: an ordinary load may be torn.
    unsafe { swap_if(a, 0, 0) }
}
unsafe extern "C" fn store(a: *mut u128, v: u128, pc: u64) {
    unsafe { update_as(WRITE, a, pc, |_| v) };
}
unsafe extern "C" fn exchange(a: *mut u128, v: u128, pc: u64) -> u128 {
    unsafe { update(a, pc, |_| v) }
}
unsafe extern "C" fn fetch_add(a: *mut u128, v: u128, pc: u64) -> u128 {
    unsafe { update(a, pc, |old| old.wrapping_add(v)) }
}
unsafe extern "C" fn fetch_sub(a: *mut u128, v: u128, pc: u64) -> u128 {
    unsafe { update(a, pc, |old| old.wrapping_sub(v)) }
}
unsafe extern "C" fn fetch_and(a: *mut u128, v: u128, pc: u64) -> u128 {
    unsafe { update(a, pc, |old| old & v) }
}
unsafe extern "C" fn fetch_or(a: *mut u128, v: u128, pc: u64) -> u128 {
    unsafe { update(a, pc, |old| old | v) }
}
unsafe extern "C" fn fetch_xor(a: *mut u128, v: u128, pc: u64) -> u128 {
    unsafe { update(a, pc, |old| old ^ v) }
}
unsafe extern "C" fn fetch_nand(a: *mut u128, v: u128, pc: u64) -> u128 {
    unsafe { update(a, pc, |old| !(old & v)) }
}
unsafe extern "C" fn compare_exchange(a: *mut u128, expected: *mut u128, v: u128, pc: u64) -> i32 {
    unsafe {
        let wanted = *expected;
        let found = compare_exchange_val(a, wanted, v, pc);
        if found != wanted {
            *expected = found;
        }
        i32::from(found == wanted)
    }
}
unsafe extern "C" fn compare_exchange_val(a: *mut u128, expected: u128, v: u128, pc: u64) -> u128 {
    touch_exchange(a as u64, 16, pc);
    let found = unsafe { swap_if(a, expected, v) };
    tell_effect(a as u64, found != expected || expected == v);
    tell_exchange(a as u64, found == expected);
    found
}

sited! {
    __tsan_atomic128_load("rsi") => load;
    __tsan_atomic128_store("rcx") => store;
    __tsan_atomic128_exchange("rcx") => exchange;
    __tsan_atomic128_fetch_add("rcx") => fetch_add;
    __tsan_atomic128_fetch_sub("rcx") => fetch_sub;
    __tsan_atomic128_fetch_and("rcx") => fetch_and;
    __tsan_atomic128_fetch_or("rcx") => fetch_or;
    __tsan_atomic128_fetch_xor("rcx") => fetch_xor;
    __tsan_atomic128_fetch_nand("rcx") => fetch_nand;
    __tsan_atomic128_compare_exchange_strong("r8") => compare_exchange;
    __tsan_atomic128_compare_exchange_weak("r8") => compare_exchange;
    __tsan_atomic128_compare_exchange_val("r9") => compare_exchange_val;
}
