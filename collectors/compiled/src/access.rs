//! One access of the program: the common case, and the rest.

use relayout_shadow::{AccessKind, ShadowMemory};

use crate::output::RtHost;
use crate::runtime::shadow;
use crate::thread::{self, RecordedThread};
use crate::{gate, tls};

/// Kinds of accesses as constants of entry points.
pub const READ: u8 = AccessKind::Read as u8;
pub const WRITE: u8 = AccessKind::Write as u8;
pub const READ_WRITE: u8 = AccessKind::ReadWrite as u8;

#[inline(always)]
const fn access_kind(kind: u8) -> AccessKind {
    match kind {
        READ => AccessKind::Read,
        WRITE => AccessKind::Write,
        _ => AccessKind::ReadWrite,
    }
}

/// One access of `SIZE` bytes; of none, it only ends a gap. `word` is the calling thread's word, and not INSIDE;
/// the gate is open.
///
/// # Safety
/// As said.
#[inline(always)]
pub unsafe extern "C" fn access<const SIZE: u8, const KIND: u8>(addr: u64, pc: u64, word: usize) {
    if word == tls::NEW {
        return first_access(addr, SIZE, KIND, pc);
    }
    if SIZE == 0 {
        return;
    }
    let thread = word as *mut RecordedThread;
    // SAFETY: the word is the calling thread's; a signal handler that comes in between can lose a
    // count, no more.
    unsafe {
        let cx = &mut *(*thread).context;
        let done = !(*thread).count_all
            && ShadowMemory::<RtHost>::try_common_hit(cx, addr, SIZE, access_kind(KIND), pc as u32);
        if !done {
            return finish_access(addr, SIZE, KIND, pc, thread);
        }
        (*thread).countdown -= 1;
        if (*thread).countdown <= 0 {
            thread::stop(thread, addr, KIND, pc as u32);
        }
    }
}

/// The first access of a thread, or the first after a gap that is timed.
#[cold]
#[inline(never)]
fn first_access(addr: u64, size: u8, kind: u8, pc: u64) {
    drop(thread::enter());
    let word = tls::word();
    if word > tls::INSIDE && size > 0 {
        // SAFETY: the calling thread's word.
        unsafe { finish_access(addr, size, kind, pc, word as *mut RecordedThread) };
    }
}

/// What is no common case.
///
/// # Safety
/// `thread` is the calling thread's word.
#[inline(never)]
unsafe extern "C" fn finish_access(
    addr: u64,
    size: u8,
    number: u8,
    pc: u64,
    thread: *mut RecordedThread,
) {
    // SAFETY: as promised by the caller.
    let inside = unsafe { thread::enter_known(thread) };
    // Whoever ends the recording shuts the gate, and then waits for those inside.
    if !gate::is_open() {
        return;
    }
    let (kind, site) = (access_kind(number), pc as u32);
    // SAFETY: inside, so nobody else on this thread uses the context.
    let cx = unsafe { &mut *inside.0.context };
    // Without that, whoever calls has found that it is no hit.
    let is_hit = inside.0.count_all && {
        shadow().count_call(cx, addr, size, kind, site);
        ShadowMemory::<RtHost>::try_common_hit(cx, addr, size, kind, site)
    };
    if !is_hit {
        shadow().access_uncommon(cx, addr, size, kind, site, || None);
    }
    inside.0.countdown -= 1;
    let stops = inside.0.countdown <= 0;
    drop(inside);
    if stops {
        // SAFETY: as promised by the caller.
        unsafe { thread::stop(thread, addr, number, site) };
    }
}

/// An access of any size by code that knows its caller, line by line.
#[inline]
pub fn touch(addr: u64, bytes: usize, kind: u8, pc: u64) {
    if !gate::is_open() || tls::word() == tls::INSIDE {
        return;
    }
    touch_lines(addr, bytes, kind, pc);
}

#[inline(never)]
fn touch_lines(addr: u64, bytes: usize, number: u8, pc: u64) {
    const LINE: u64 = relayout_shadow::LINE_BYTES as u64;
    if bytes == 0 {
        return;
    }
    if tls::word() == tls::NEW {
        drop(thread::enter());
    }
    let word = tls::word();
    if word <= tls::INSIDE {
        return;
    }
    let thread = word as *mut RecordedThread;
    let end = addr.saturating_add(bytes as u64);
    let mut at = addr;
    while at < end {
        // A gap that begins at a line that is not the last has no end that means something.
        tls::set_word(word);
        let part = (LINE - at % LINE).min(end - at) as u8;
        // SAFETY: the calling thread's word, as in `access`.
        unsafe {
            let cx = &mut *(*thread).context;
            let done = !(*thread).count_all
                && ShadowMemory::<RtHost>::try_common_hit(
                    cx,
                    at,
                    part,
                    access_kind(number),
                    pc as u32,
                );
            if !done {
                finish_access(at, part, number, pc, thread);
            } else {
                (*thread).countdown -= 1;
                if (*thread).countdown <= 0 {
                    thread::stop(thread, at, number, pc as u32);
                }
            }
        }
        at += u64::from(part);
    }
}
