//! Functions of `relayout.h`, by which the program names objects and marks operations and the
//! window.

use std::ffi::{CStr, c_char};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};

use crate::allocs::{self, ObjectNaming};
use crate::output::append_line;
use crate::stack::CallerFrame;
use crate::text::FixedText;
use crate::{gate, recording, sys, thread, window};

/// Type names, at most; objects of further types get no name.
const NAMES_MAX: usize = 4096;
const NAME_BYTES_MAX: usize = 256;

type Name = FixedText<NAME_BYTES_MAX>;

static NAMES: AtomicPtr<Name> = AtomicPtr::new(null_mut());
static LOCK: AtomicU32 = AtomicU32::new(0);
static COUNT: AtomicU32 = AtomicU32::new(0);

/// Keeps the names as they are until [`unlock_names`].
pub fn lock_names() {
    while LOCK.compare_exchange_weak(0, 1, Acquire, Relaxed).is_err() {
        sys::relax();
    }
}

pub fn unlock_names() {
    LOCK.store(0, Release);
}

/// Appends a line for each name, for a forked child, which knows those of its parent.
pub fn list_names() {
    let (names, count) = (NAMES.load(Relaxed), COUNT.load(Relaxed));
    for n in 0..count {
        // SAFETY: `count` names were written.
        list_name(n + 1, unsafe { &*names.add(n as usize) });
    }
}

fn list_name(number: u32, name: &Name) {
    let mut line = FixedText::new();
    line.push(b"name ");
    line.push_decimal(number.into());
    line.push(b" ");
    line.push(name.bytes());
    append_line(&mut line);
}

/// Returns the number of a type's name, from 1. The caller is inside the runtime.
fn number_name(text: &[u8]) -> Option<u32> {
    lock_names();
    let number = number_name_locked(text);
    unlock_names();
    number
}

fn number_name_locked(text: &[u8]) -> Option<u32> {
    if NAMES.load(Relaxed).is_null() {
        NAMES.store(sys::zeroed(NAMES_MAX * size_of::<Name>())?.cast(), Relaxed);
    }
    let names = NAMES.load(Relaxed);
    let mut name = Name::new();
    for &byte in text {
        name.push(&[if byte == b'\n' { b' ' } else { byte }]);
    }
    let count = COUNT.load(Relaxed) as usize;
    // SAFETY: under the lock; `count` names were written.
    let known = unsafe { std::slice::from_raw_parts(names, count) };
    if let Some(at) = known.iter().position(|known| known.bytes() == name.bytes()) {
        return Some(at as u32 + 1);
    }
    if count == NAMES_MAX || name.is_cut() {
        return None;
    }
    let number = count as u32 + 1;
    list_name(number, &name);
    // SAFETY: below the size of the table.
    unsafe { names.add(count).write(name) };
    COUNT.store(number, Relaxed);
    Some(number)
}

fn record_object(start: u64, bytes: u64, stride: u32, ty: *const c_char, caller: CallerFrame) {
    if !recording::is_recorded() || start == 0 || bytes == 0 || ty.is_null() {
        return;
    }
    let Some(inside) = thread::enter() else {
        return;
    };
    // SAFETY: the program passes a C string.
    let text = unsafe { CStr::from_ptr(ty) };
    if let Some(name) = number_name(text.to_bytes()) {
        allocs::add_named(&inside, start, bytes, caller, ObjectNaming { name, stride });
    }
}

crate::interpose::alloc::called! {
    relayout_rt_object("rcx", "r8") => object_for;
    relayout_rt_array("r8", "r9") => array_for;
}

extern "C" fn object_for(start: u64, bytes: u64, ty: *const c_char, pc: u64, frame: u64) {
    record_object(start, bytes, 0, ty, CallerFrame { pc, frame });
}

extern "C" fn array_for(
    start: u64,
    elements: u64,
    element_bytes: u64,
    ty: *const c_char,
    pc: u64,
    frame: u64,
) {
    if let (Some(bytes), Ok(stride)) = (
        elements.checked_mul(element_bytes),
        u32::try_from(element_bytes),
    ) {
        record_object(start, bytes, stride, ty, CallerFrame { pc, frame });
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn relayout_rt_forget(start: u64) {
    if recording::is_recorded()
        && let Some(_inside) = thread::enter()
    {
        allocs::remove_named(start);
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn relayout_rt_operation() {
    if gate::is_open() && recording::is_recorded() {
        recording::shadow().note_operation();
        thread::note_operation();
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn relayout_rt_start() {
    window::open_window();
}

#[unsafe(no_mangle)]
pub extern "C" fn relayout_rt_stop() {
    if recording::is_recorded() {
        window::close_window();
    }
}
