//! Accesses of the program: the common case, the uncommon ones, and the beginning of a timed gap.
//!
//! The gap begins here rather than in [`gap`], because it ends by an entry point that is an access
//! itself.

use std::arch::asm;

use relayout_shadow::wire::{COMPARE_EXCHANGE, LOCKED};
use relayout_shadow::{AccessFacts, AccessKind, AccessValue, ShadowMemory, StoreEffect};

use crate::entry::entry_point;
use crate::output::RtHost;
use crate::recording::{options, shadow};
use crate::thread::inside::enter_known;
use crate::thread::portion::end_portion;
use crate::thread::state::RecordedThread;
use crate::values::watch_store;
use crate::{gap, gate, thread, tls};

/// Kinds of accesses, as const parameters of entry points.
pub const READ: u8 = AccessKind::Read as u8;
pub const WRITE: u8 = AccessKind::Write as u8;
pub const READ_WRITE: u8 = AccessKind::ReadWrite as u8;

/// Set beside an access's instruction (as [`AccessFacts::instruction`]): the program makes it alone,
/// so that memory shows its effect.
const WHOLE: u8 = 0x80;

/// What is known of an access beside its place.
struct ThreadAccess {
    /// Accesses of the thread up to this one.
    accesses: u64,
    /// Its instruction, and [`WHOLE`].
    traits: u8,
}

impl AccessFacts for ThreadAccess {
    fn value(&self) -> Option<AccessValue> {
        let is_awaited = self.traits & WHOLE != 0 && options().values;
        is_awaited.then_some(AccessValue::Awaited)
    }

    fn clock(&self) -> Option<u64> {
        Some(self.accesses)
    }

    fn instruction(&self) -> u8 {
        self.traits & !WHOLE
    }
}

#[inline(always)]
const fn access_kind(kind: u8) -> AccessKind {
    match kind {
        READ => AccessKind::Read,
        WRITE => AccessKind::Write,
        _ => AccessKind::ReadWrite,
    }
}

/// Records an access of `SIZE` bytes at `addr`. With `SIZE` 0 it only ends a gap.
///
/// # Safety
/// `word` is the calling thread's word, and not INSIDE. The gate is open.
#[inline(always)]
pub unsafe extern "C" fn access<const SIZE: u8, const KIND: u8>(addr: u64, pc: u64, word: usize) {
    if word == tls::NEW {
        return first_access(addr, SIZE, KIND, pc);
    }
    if SIZE == 0 {
        return;
    }
    let thread = word as *mut RecordedThread;
    // SAFETY: the word is the calling thread's. A signal handler that comes in between loses a
    // count at most.
    unsafe {
        let cx = &mut *(*thread).context;
        let done = !(*thread).count_all
            && ShadowMemory::<RtHost>::try_common_hit(cx, addr, SIZE, access_kind(KIND), pc as u32);
        if !done {
            return finish_access(addr, SIZE, KIND, pc, thread, WHOLE);
        }
        (*thread).countdown -= 1;
        if (*thread).countdown <= 0 {
            stop(thread, addr, KIND, pc as u32);
        }
    }
}

/// Records the first access of a thread, or the first one after a timed gap.
#[cold]
#[inline(never)]
fn first_access(addr: u64, size: u8, kind: u8, pc: u64) {
    if let Some(thread) = thread::recorded_thread()
        && size > 0
    {
        // SAFETY: the calling thread's state.
        unsafe { finish_access(addr, size, kind, pc, thread, WHOLE) };
    }
}

/// Records an access that is no common case. `traits` are its instruction, and [`WHOLE`].
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
    traits: u8,
) {
    // SAFETY: as promised by the caller.
    let inside = unsafe { enter_known(thread) };
    // The thread that finishes shuts the gate before it waits for the threads inside.
    if !gate::is_open() {
        return;
    }
    let (kind, site) = (access_kind(number), pc as u32);
    // SAFETY: the thread is inside, so no other code on it uses the context.
    let cx = unsafe { &mut *inside.0.context };
    if cx.awaits_store() {
        // A signal handler's last store.
        shadow().settle_store(cx, StoreEffect::Unknown);
    }
    // Without `count_all`, the caller has already found that the access is no hit.
    let is_hit = inside.0.count_all && {
        shadow().count_call(cx, addr, size, kind, site);
        ShadowMemory::<RtHost>::try_common_hit(cx, addr, size, kind, site)
    };
    if !is_hit {
        let accesses = inside.0.accesses_made();
        let facts = ThreadAccess { accesses, traits };
        // SAFETY: as above.
        let cx = unsafe { &mut *inside.0.context };
        shadow().access_uncommon(cx, addr, size, kind, site, &facts);
    }
    inside.0.countdown -= 1;
    let stops = inside.0.countdown <= 0;
    let awaits = cx.awaits_store();
    drop(inside);
    // SAFETY: as promised by the caller.
    unsafe {
        if awaits {
            watch_store(thread, addr, size);
        }
        if stops {
            stop(thread, addr, number, site);
        }
        if awaits && (*thread).store.is_set() && tls::word() != tls::INSIDE {
            tls::set_word(tls::NEW);
        }
    }
}

/// Records an access of any size by interposed code that knows its caller, line by line.
#[inline]
pub fn touch(addr: u64, bytes: usize, kind: u8, pc: u64) {
    touch_as(addr, bytes, kind, pc, 0);
}

/// Records an atomic access, which the runtime makes afterwards. The caller then calls
/// [`tell_effect`](crate::values::tell_effect) for a store.
#[inline]
pub fn touch_atomic(addr: u64, bytes: usize, kind: u8, pc: u64) {
    let locked = if kind == READ_WRITE { LOCKED } else { 0 };
    touch_as(addr, bytes, kind, pc, WHOLE | locked);
}

/// Records a compare-and-exchange, which the runtime makes afterwards. The caller then calls
/// [`tell_effect`](crate::values::tell_effect) and [`tell_exchange`].
#[inline]
pub fn touch_exchange(addr: u64, bytes: usize, pc: u64) {
    touch_as(
        addr,
        bytes,
        READ_WRITE,
        pc,
        WHOLE | LOCKED | COMPARE_EXCHANGE,
    );
}

/// Records a locked read-write of interposed code, which the C library makes.
#[inline]
pub fn touch_locked(addr: u64, bytes: usize, pc: u64) {
    touch_as(addr, bytes, READ_WRITE, pc, LOCKED);
}

#[inline(always)]
fn touch_as(addr: u64, bytes: usize, kind: u8, pc: u64, traits: u8) {
    if gate::is_open() && tls::word() != tls::INSIDE {
        touch_lines(addr, bytes, kind, pc, traits);
    }
}

/// Notes whether the compare-and-exchange that the calling thread has just made stored.
#[inline(never)]
pub fn tell_exchange(addr: u64, stored: bool) {
    let (thread, word) = (tls::thread() as *mut RecordedThread, tls::word());
    if thread.is_null() || word == tls::INSIDE || !gate::is_open() {
        return;
    }
    // SAFETY: the calling thread's own, which is outside.
    unsafe {
        let inside = enter_known(thread);
        if gate::is_open() {
            shadow().note_exchange(&mut *inside.0.context, addr, stored);
        }
        drop(inside);
    }
    tls::set_word(word);
}

#[inline(never)]
fn touch_lines(addr: u64, bytes: usize, number: u8, pc: u64, traits: u8) {
    const LINE: u64 = relayout_shadow::LINE_BYTES as u64;
    if bytes == 0 {
        return;
    }
    let Some(thread) = thread::recorded_thread() else {
        return;
    };
    let end = addr.saturating_add(bytes as u64);
    let mut at = addr;
    while at < end {
        // A gap that began at an earlier line of this access would end at the next line: drop it.
        tls::set_word(thread as usize);
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
                let is_last = at + u64::from(part) == end;
                let traits = if is_last { traits } else { traits & !WHOLE };
                finish_access(at, part, number, pc, thread, traits);
            } else {
                (*thread).countdown -= 1;
                if (*thread).countdown <= 0 {
                    stop(thread, at, number, pc as u32);
                }
            }
        }
        at += u64::from(part);
    }
}

entry_point!(relayout_rt_gap_end => access::<0, READ>);

/// Ends a portion of accesses after an access at `addr`, then begins a gap unless the thread
/// paused, since the code after a pause is not typical.
///
/// # Safety
/// `thread` is the calling thread's word, its `countdown` has reached 0, and the thread is outside
/// the runtime.
#[cold]
#[inline(never)]
unsafe fn stop(thread: *mut RecordedThread, addr: u64, kind: u8, site: u32) {
    // SAFETY: as promised by the caller.
    unsafe {
        if !end_portion(thread, addr) {
            begin_gap(thread, addr, kind, site);
        }
    }
}

/// Times the gap after the current access if one is due. The runtime returns to the program right
/// after it.
///
/// # Safety
/// `thread` is the calling thread's word, and the program is about to access `addr` in this way.
#[inline(never)]
unsafe fn begin_gap(thread: *mut RecordedThread, addr: u64, kind: u8, site: u32) {
    // SAFETY: as promised by the caller.
    let gaps = unsafe { &mut (*thread).gaps };
    if !gaps.is_due() {
        return;
    }
    gaps.prepare(site);
    // A plain store waits for no line.
    let is_shared = kind != WRITE && shadow().events_in(addr, 1) > 0;
    gaps.is_shared = is_shared;
    // The first empty gap brings code and data into the caches.
    for _ in 0..2 {
        // SAFETY: as promised by the caller; the entry point touches no memory of the program's.
        unsafe {
            (*thread).gaps.arm(gap::EMPTY);
            relayout_rt_gap_end(0);
        }
        if tls::word() == tls::NEW {
            // The gate was shut meanwhile.
            tls::set_word(thread as usize);
            return;
        }
    }
    // SAFETY: as promised by the caller.
    unsafe {
        if is_shared {
            fetch_line(addr, kind);
        }
        (*thread).gaps.arm(gap::GAP);
    }
}

/// Fetches the line of `addr` into this processor's cache, as an access of this kind does, without
/// changing it. The program's own access then waits less within the gap.
///
/// # Safety
/// The program is about to make that access.
#[inline(always)]
unsafe fn fetch_line(addr: u64, kind: u8) {
    // SAFETY: as promised by the caller.
    unsafe {
        if kind == READ {
            asm!("mov {0}, byte ptr [{1}]", out(reg_byte) _, in(reg) addr,
                options(nostack, readonly, preserves_flags));
        } else {
            asm!("lock or byte ptr [{0}], 0", in(reg) addr, options(nostack));
        }
    }
}
