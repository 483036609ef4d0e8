//! Control page, mapped over a static of the runtime so that entry points reach it without a
//! pointer.
//!
//! Until a recording is attached it is ordinary memory that says "stopped".

use std::cell::UnsafeCell;
use std::mem::offset_of;
use std::sync::atomic::Ordering::Relaxed;

use relayout_shadow::control::{CONTROL_BYTES, RecordingControl};

/// Offset of the two words that shut the gate unless both are 0.
pub const GATE_OFFSET: usize = offset_of!(RecordingControl, paused);

#[repr(C, align(4096))]
pub struct ControlPage {
    words: UnsafeCell<[u32; CONTROL_BYTES / 4]>,
}

// SAFETY: only ever accessed as `RecordingControl`, all of whose fields are atomics.
unsafe impl Sync for ControlPage {}

pub static PAGE: ControlPage = ControlPage {
    words: UnsafeCell::new({
        let mut words = [0; CONTROL_BYTES / 4];
        words[offset_of!(RecordingControl, stopped) / 4] = 1;
        words
    }),
};

/// Returns the control page, which is ordinary memory while nothing is recorded.
#[inline(always)]
pub fn control() -> &'static RecordingControl {
    // SAFETY: the page is aligned and large enough, and all fields are atomics.
    unsafe { &*PAGE.words.get().cast::<RecordingControl>() }
}

/// Returns true while accesses are to be recorded.
#[inline(always)]
pub fn is_open() -> bool {
    let control = control();
    control.paused.load(Relaxed) | control.stopped.load(Relaxed) == 0
}
