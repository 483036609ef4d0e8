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
use crate::access::{READ, READ_WRITE, WRITE, touch};

macro_rules! operations {
    ($module:ident, $ty:ty, $atomic:ty) => {
        mod $module {
            use super::*;

            const BYTES: usize = size_of::<$ty>();

            /// # Safety
            /// `at` may be accessed atomically, as the program would have done.
            unsafe fn at<'a>(at: *mut $ty, kind: u8, pc: u64) -> &'a $atomic {
                touch(at as u64, BYTES, kind, pc);
                // SAFETY: as promised by the caller. Compilers call this only for aligned objects.
                unsafe { &*at.cast::<$atomic>() }
            }

            pub unsafe extern "C" fn load(a: *mut $ty, pc: u64) -> $ty {
                unsafe { at(a, READ, pc).load(SeqCst) }
            }
            pub unsafe extern "C" fn store(a: *mut $ty, v: $ty, pc: u64) {
                unsafe { at(a, WRITE, pc).store(v, SeqCst) }
            }
            pub unsafe extern "C" fn exchange(a: *mut $ty, v: $ty, pc: u64) -> $ty {
                unsafe { at(a, READ_WRITE, pc).swap(v, SeqCst) }
            }
            pub unsafe extern "C" fn fetch_add(a: *mut $ty, v: $ty, pc: u64) -> $ty {
                unsafe { at(a, READ_WRITE, pc).fetch_add(v, SeqCst) }
            }
            pub unsafe extern "C" fn fetch_sub(a: *mut $ty, v: $ty, pc: u64) -> $ty {
                unsafe { at(a, READ_WRITE, pc).fetch_sub(v, SeqCst) }
            }
            pub unsafe extern "C" fn fetch_and(a: *mut $ty, v: $ty, pc: u64) -> $ty {
                unsafe { at(a, READ_WRITE, pc).fetch_and(v, SeqCst) }
            }
            pub unsafe extern "C" fn fetch_or(a: *mut $ty, v: $ty, pc: u64) -> $ty {
                unsafe { at(a, READ_WRITE, pc).fetch_or(v, SeqCst) }
            }
            pub unsafe extern "C" fn fetch_xor(a: *mut $ty, v: $ty, pc: u64) -> $ty {
                unsafe { at(a, READ_WRITE, pc).fetch_xor(v, SeqCst) }
            }
            pub unsafe extern "C" fn fetch_nand(a: *mut $ty, v: $ty, pc: u64) -> $ty {
                unsafe { at(a, READ_WRITE, pc).fetch_nand(v, SeqCst) }
            }
            pub unsafe extern "C" fn compare_exchange(
                a: *mut $ty,
                expected: *mut $ty,
                v: $ty,
                pc: u64,
            ) -> i32 {
                unsafe {
                    match at(a, READ_WRITE, pc).compare_exchange(*expected, v, SeqCst, SeqCst) {
                        Ok(_) => 1,
                        Err(found) => {
                            *expected = found;
                            0
                        }
                    }
                }
            }
            pub unsafe extern "C" fn compare_exchange_val(
                a: *mut $ty,
                expected: $ty,
                v: $ty,
                pc: u64,
            ) -> $ty {
                unsafe {
                    match at(a, READ_WRITE, pc).compare_exchange(expected, v, SeqCst, SeqCst) {
                        Ok(found) | Err(found) => found,
                    }
                }
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
