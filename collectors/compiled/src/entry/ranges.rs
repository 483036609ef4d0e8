//! Accesses to ranges of memory, and `mem*` under the sanitizer's names.

use std::ffi::c_void;

use super::sited;
use crate::access::{READ, WRITE, touch};
use crate::announced::touch_announced;
use crate::interpose::memory;

sited! {
    __tsan_read_range("rdx") => read_range;
    __tsan_write_range("rdx") => write_range;
    __tsan_memcpy("rcx") => memory::memcpy_at;
    __tsan_memmove("rcx") => memory::memmove_at;
    __tsan_memset("rcx") => memory::memset_at;
}

extern "C" fn read_range(addr: u64, bytes: usize, pc: u64) {
    touch_announced(addr, bytes, READ, pc);
}

extern "C" fn write_range(addr: u64, bytes: usize, pc: u64) {
    touch_announced(addr, bytes, WRITE, pc);
}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_read_range_pc(addr: u64, bytes: usize, pc: u64) {
    touch(addr, bytes, READ, pc);
}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_write_range_pc(addr: u64, bytes: usize, pc: u64) {
    touch(addr, bytes, WRITE, pc);
}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_external_read(addr: u64, pc: u64, _tag: *mut c_void) {
    touch(addr, 1, READ, pc);
}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_external_write(addr: u64, pc: u64, _tag: *mut c_void) {
    touch(addr, 1, WRITE, pc);
}
