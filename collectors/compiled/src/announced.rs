//! Copies of structs, which GCC announces as ranges and then makes by a call of `memcpy` or
//! `memset`.
//!
//! Without the call, which `relayout cc` asks for, GCC would copy by `rep movs`, of which the
//! announcement is all that the runtime sees. The call is the same access, and counts once.

use crate::access::{READ, touch};
use crate::thread::state::RecordedThread;
use crate::{gate, tls};

/// Bytes of code between an announcement and its call, at most. Both are a few instructions apart.
const DISTANCE_MAX: u64 = 256;

/// A range that was announced last.
#[derive(Clone, Copy, Default)]
struct AnnouncedRange {
    addr: u64,
    bytes: usize,
    pc: u64,
}

/// Ranges that a thread announced last, by kind of access.
#[derive(Default)]
pub struct AnnouncedRanges {
    read: AnnouncedRange,
    written: AnnouncedRange,
}

impl AnnouncedRanges {
    fn last(&mut self, kind: u8) -> &mut AnnouncedRange {
        match kind {
            READ => &mut self.read,
            _ => &mut self.written,
        }
    }
}

/// Returns the calling thread's state, unless it is inside the runtime or unknown, or nothing is
/// recorded.
#[inline]
fn outside_thread() -> Option<&'static mut RecordedThread> {
    if !gate::is_open() || tls::word() == tls::INSIDE {
        return None;
    }
    // SAFETY: the calling thread's own state, or null; threads are never freed.
    unsafe { (tls::thread() as *mut RecordedThread).as_mut() }
}

/// Records an access to a range that instrumented code announces.
pub fn touch_announced(addr: u64, bytes: usize, kind: u8, pc: u64) {
    touch(addr, bytes, kind, pc);
    if let Some(thread) = outside_thread() {
        *thread.announced.last(kind) = AnnouncedRange { addr, bytes, pc };
    }
}

/// Records an access to a range by a function of the C library, unless the code before the call has
/// announced it.
pub fn touch_called(addr: u64, bytes: usize, kind: u8, pc: u64) {
    if let Some(thread) = outside_thread() {
        let last = thread.announced.last(kind);
        let is_same = (last.addr, last.bytes) == (addr, bytes)
            && pc.wrapping_sub(last.pc) <= DISTANCE_MAX
            && bytes > 0;
        if is_same {
            *last = AnnouncedRange::default();
            // A timed gap does not contain the call.
            tls::set_word(&raw mut *thread as usize);
            return;
        }
    }
    touch(addr, bytes, kind, pc);
}
