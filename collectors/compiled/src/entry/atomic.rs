//! Atomic operations of 8 to 64 bits, which the runtime performs in place of the program.
//!
//! All are sequentially consistent, whatever order was requested. A failed compare-exchange counts
//! as a read-write, too: on x86 it takes the line exclusive all the same.

#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "a block without a comment rests on the promise of the caller: an aligned object of that width"
)]

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::SeqCst};

use super::sited;
use crate::access::{READ, READ_WRITE, WRITE, tell_exchange, touch, touch_atomic, touch_exchange};
use crate::values::tell_effect;

/// Defines a read-write whose name is that of the atomic type's method.
macro_rules! updates {
    ($ty:ty, $name:ident: |$before:ident, $v:ident| $after:expr) => {
        pub unsafe extern "C" fn $name(a: *mut $ty, $v: $ty, pc: u64) -> $ty {
            unsafe {
                change(a, READ_WRITE, pc, |cell| {
                    let $before = cell.$name($v, SeqCst);
                    ($before, $after)
                })
            }
        }
    };
}

macro_rules! operations {
    ($module:ident, $ty:ty, $atomic:ty) => {
        mod $module {
            use super::*;

            const BYTES: usize = size_of::<$ty>();

            /// Records a store or a read-write and makes it. `operation` returns the value before
            /// and the value after. Returns the value before.
            ///
            /// # Safety
            /// `at` may be accessed atomically, as the program would have done.
            #[inline(always)]
            unsafe fn change(
                at: *mut $ty,
                kind: u8,
                pc: u64,
                operation: impl FnOnce(&$atomic) -> ($ty, $ty),
            ) -> $ty {
                touch_atomic(at as u64, BYTES, kind, pc);
                // SAFETY: as promised by the caller. Compilers call this only for aligned objects.
                let (before, after) = operation(unsafe { &*at.cast::<$atomic>() });
                tell_effect(at as u64, before == after);
                before
            }

            pub unsafe extern "C" fn load(a: *mut $ty, pc: u64) -> $ty {
                touch(a as u64, BYTES, READ, pc);
                unsafe { &*a.cast::<$atomic>() }.load(SeqCst)
            }
            pub unsafe extern "C" fn store(a: *mut $ty, v: $ty, pc: u64) {
                unsafe { change(a, WRITE, pc, |cell| (cell.swap(v, SeqCst), v)) };
            }
            pub unsafe extern "C" fn exchange(a: *mut $ty, v: $ty, pc: u64) -> $ty {
                unsafe { change(a, READ_WRITE, pc, |cell| (cell.swap(v, SeqCst), v)) }
            }
            updates! { $ty, fetch_add: |before, v| before.wrapping_add(v) }
            updates! { $ty, fetch_sub: |before, v| before.wrapping_sub(v) }
            updates! { $ty, fetch_and: |before, v| before & v }
            updates! { $ty, fetch_or: |before, v| before | v }
            updates! { $ty, fetch_xor: |before, v| before ^ v }
            updates! { $ty, fetch_nand: |before, v| !(before & v) }
            pub unsafe extern "C" fn compare_exchange(
                a: *mut $ty,
                expected: *mut $ty,
                v: $ty,
                pc: u64,
            ) -> i32 {
                unsafe {
                    let wanted = *expected;
                    let found = compare_exchange_val(a, wanted, v, pc);
                    if found != wanted {
                        *expected = found;
                    }
                    i32::from(found == wanted)
                }
            }
            pub unsafe extern "C" fn compare_exchange_val(
                a: *mut $ty,
                expected: $ty,
                v: $ty,
                pc: u64,
            ) -> $ty {
                touch_exchange(a as u64, BYTES, pc);
                let cell = unsafe { &*a.cast::<$atomic>() };
                let result = cell.compare_exchange(expected, v, SeqCst, SeqCst);
                tell_effect(a as u64, result.is_err() || expected == v);
                tell_exchange(a as u64, result.is_ok());
                result.unwrap_or_else(|found| found)
            }
        }
    };
}

operations!(of8, u8, AtomicU8);
operations!(of16, u16, AtomicU16);
operations!(of32, u32, AtomicU32);
operations!(of64, u64, AtomicU64);

sited! {
    __tsan_atomic8_load("rsi") => of8::load;
    __tsan_atomic8_store("rdx") => of8::store;
    __tsan_atomic8_exchange("rdx") => of8::exchange;
    __tsan_atomic8_fetch_add("rdx") => of8::fetch_add;
    __tsan_atomic8_fetch_sub("rdx") => of8::fetch_sub;
    __tsan_atomic8_fetch_and("rdx") => of8::fetch_and;
    __tsan_atomic8_fetch_or("rdx") => of8::fetch_or;
    __tsan_atomic8_fetch_xor("rdx") => of8::fetch_xor;
    __tsan_atomic8_fetch_nand("rdx") => of8::fetch_nand;
    __tsan_atomic8_compare_exchange_strong("rcx") => of8::compare_exchange;
    __tsan_atomic8_compare_exchange_weak("rcx") => of8::compare_exchange;
    __tsan_atomic8_compare_exchange_val("rcx") => of8::compare_exchange_val;
    __tsan_atomic16_load("rsi") => of16::load;
    __tsan_atomic16_store("rdx") => of16::store;
    __tsan_atomic16_exchange("rdx") => of16::exchange;
    __tsan_atomic16_fetch_add("rdx") => of16::fetch_add;
    __tsan_atomic16_fetch_sub("rdx") => of16::fetch_sub;
    __tsan_atomic16_fetch_and("rdx") => of16::fetch_and;
    __tsan_atomic16_fetch_or("rdx") => of16::fetch_or;
    __tsan_atomic16_fetch_xor("rdx") => of16::fetch_xor;
    __tsan_atomic16_fetch_nand("rdx") => of16::fetch_nand;
    __tsan_atomic16_compare_exchange_strong("rcx") => of16::compare_exchange;
    __tsan_atomic16_compare_exchange_weak("rcx") => of16::compare_exchange;
    __tsan_atomic16_compare_exchange_val("rcx") => of16::compare_exchange_val;
    __tsan_atomic32_load("rsi") => of32::load;
    __tsan_atomic32_store("rdx") => of32::store;
    __tsan_atomic32_exchange("rdx") => of32::exchange;
    __tsan_atomic32_fetch_add("rdx") => of32::fetch_add;
    __tsan_atomic32_fetch_sub("rdx") => of32::fetch_sub;
    __tsan_atomic32_fetch_and("rdx") => of32::fetch_and;
    __tsan_atomic32_fetch_or("rdx") => of32::fetch_or;
    __tsan_atomic32_fetch_xor("rdx") => of32::fetch_xor;
    __tsan_atomic32_fetch_nand("rdx") => of32::fetch_nand;
    __tsan_atomic32_compare_exchange_strong("rcx") => of32::compare_exchange;
    __tsan_atomic32_compare_exchange_weak("rcx") => of32::compare_exchange;
    __tsan_atomic32_compare_exchange_val("rcx") => of32::compare_exchange_val;
    __tsan_atomic64_load("rsi") => of64::load;
    __tsan_atomic64_store("rdx") => of64::store;
    __tsan_atomic64_exchange("rdx") => of64::exchange;
    __tsan_atomic64_fetch_add("rdx") => of64::fetch_add;
    __tsan_atomic64_fetch_sub("rdx") => of64::fetch_sub;
    __tsan_atomic64_fetch_and("rdx") => of64::fetch_and;
    __tsan_atomic64_fetch_or("rdx") => of64::fetch_or;
    __tsan_atomic64_fetch_xor("rdx") => of64::fetch_xor;
    __tsan_atomic64_fetch_nand("rdx") => of64::fetch_nand;
    __tsan_atomic64_compare_exchange_strong("rcx") => of64::compare_exchange;
    __tsan_atomic64_compare_exchange_weak("rcx") => of64::compare_exchange;
    __tsan_atomic64_compare_exchange_val("rcx") => of64::compare_exchange_val;
}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_atomic_thread_fence(_order: i32) {
    std::sync::atomic::fence(SeqCst);
}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_atomic_signal_fence(_order: i32) {
    std::sync::atomic::compiler_fence(SeqCst);
}
