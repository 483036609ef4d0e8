//! Limits of a process's memory (`RLIMIT_AS`, `RLIMIT_DATA`), in which the runtime's own memory counts.
//!
//! A program that limits its memory means what it allocates itself. So the runtime adds its own memory
//! to the limits that the program sets, and to those that it starts with, as far as the system lets
//! it. The program reads its limits without that.

#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "a block without a comment rests on the promise of the C library function's caller, whose arguments it passes on"
)]

use std::ffi::{c_int, c_uint};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU64, Ordering::*};

use libc::{RLIM_INFINITY, rlimit};
use relayout_shadow::control::MemoryLimitKind;

use crate::gate::control;
use crate::output::is_recorded_process;
use crate::{recording, sys};

/// Memory that the runtime may take beyond what it has when a limit is set.
const GROWTH_BYTES: u64 = 1 << 30;
/// Memory without which a recording does not begin: tables of fixed size, and those of a few threads.
const ROOM_BYTES_MIN: u64 = 256 << 20;

/// Bytes that were added to each limit, and to its upper limit, by [`MemoryLimitKind`].
static ADDED: [[AtomicU64; 2]; 2] = [const { [const { AtomicU64::new(0) }; 2] }; 2];

const KINDS: [MemoryLimitKind; 2] = [MemoryLimitKind::AddressSpace, MemoryLimitKind::Data];

fn resource(kind: MemoryLimitKind) -> c_uint {
    match kind {
        MemoryLimitKind::AddressSpace => libc::RLIMIT_AS,
        MemoryLimitKind::Data => libc::RLIMIT_DATA,
    }
}

fn kind_of(number: c_uint) -> Option<MemoryLimitKind> {
    KINDS.into_iter().find(|&kind| resource(kind) == number)
}

fn added(kind: MemoryLimitKind) -> [u64; 2] {
    ADDED[kind as usize - 1]
        .each_ref()
        .map(|bytes| bytes.load(Relaxed))
}

fn set_added(kind: MemoryLimitKind, bytes: [u64; 2]) {
    for (place, bytes) in ADDED[kind as usize - 1].iter().zip(bytes) {
        place.store(bytes, Relaxed);
    }
}

/// Calls `prlimit`; returns 0, or -1 with `errno`.
unsafe fn change_limit(pid: i32, number: c_uint, new: *const rlimit, old: *mut rlimit) -> c_int {
    unsafe { libc::syscall(libc::SYS_prlimit64, pid, number, new, old) as c_int }
}

/// Returns the limits of this process.
fn read_limit(kind: MemoryLimitKind) -> rlimit {
    let mut limit = rlimit {
        rlim_cur: RLIM_INFINITY,
        rlim_max: RLIM_INFINITY,
    };
    // SAFETY: the kernel writes to `limit` only.
    unsafe { change_limit(0, resource(kind), null(), &mut limit) };
    limit
}

/// Sets a limit so that the program has `asked`, and the runtime its own memory. Returns false if the
/// system leaves no room for that.
fn set_with_room(kind: MemoryLimitKind, asked: rlimit) -> bool {
    let more = sys::mapped_bytes().saturating_add(GROWTH_BYTES);
    let present_max = read_limit(kind).rlim_max;
    // Only the superuser may raise the upper limit. Others have the room below it.
    let maxima = [RLIM_INFINITY, present_max];
    let maxima = maxima.into_iter().filter(|&max| asked.rlim_max <= max);
    for max in maxima {
        let widen = |bytes: u64| match bytes {
            RLIM_INFINITY => bytes,
            bytes => bytes.saturating_add(more).min(max),
        };
        let widened = rlimit {
            rlim_cur: widen(asked.rlim_cur),
            rlim_max: widen(asked.rlim_max),
        };
        let gained = [
            widened.rlim_cur - asked.rlim_cur,
            widened.rlim_max - asked.rlim_max,
        ];
        // SAFETY: the kernel reads `widened` only.
        if gained[0] > 0 && unsafe { change_limit(0, resource(kind), &widened, null_mut()) } == 0 {
            set_added(kind, gained);
            return true;
        }
    }
    false
}

/// Notes a limit for the host. `is_shared` says that the runtime's memory counts in it.
fn note_limit(kind: MemoryLimitKind, bytes: u64, is_shared: bool) {
    let control = control();
    control.memory_limit.store(bytes, Release);
    control.memory_limit_kind.store(kind as u32, Release);
    control
        .memory_limit_shared
        .store(u32::from(is_shared), Release);
}

/// Gives the runtime room beside the limits that the process starts with. False if they leave too
/// little.
pub fn make_room() -> bool {
    KINDS.into_iter().all(|kind| {
        let limit = read_limit(kind);
        if limit.rlim_cur == RLIM_INFINITY {
            return true;
        }
        let is_widened = set_with_room(kind, limit);
        note_limit(kind, limit.rlim_cur, !is_widened);
        let room = read_limit(kind).rlim_cur.saturating_sub(used_bytes(kind));
        room >= ROOM_BYTES_MIN
    })
}

/// Returns the bytes that count in a limit; 0 if the system does not tell.
fn used_bytes(kind: MemoryLimitKind) -> u64 {
    let mut text = [0u8; 256];
    // SAFETY: a C string; the buffer is ours.
    let len = unsafe {
        let flags = libc::O_RDONLY | libc::O_CLOEXEC;
        let file = libc::open(c"/proc/self/statm".as_ptr(), flags);
        if file < 0 {
            return 0;
        }
        let len = libc::syscall(libc::SYS_read, file, text.as_mut_ptr(), text.len());
        libc::close(file);
        len
    };
    let text = &text[..usize::try_from(len).unwrap_or(0)];
    // Pages: all, resident, shared, code, none, data and stack.
    let field = match kind {
        MemoryLimitKind::AddressSpace => 0,
        MemoryLimitKind::Data => 5,
    };
    let digits = text.split(|&byte| byte == b' ').nth(field);
    let pages = digits.unwrap_or_default().iter().try_fold(0u64, |n, &c| {
        let digit = c.checked_sub(b'0').filter(|&digit| digit < 10)?;
        n.checked_mul(10)?.checked_add(digit.into())
    });
    pages.unwrap_or(0).saturating_mul(4096)
}

/// Notes the limit that the runtime has met, after the system gave it no memory.
pub fn note_shortage() {
    for kind in KINDS {
        let limit = read_limit(kind).rlim_cur;
        if limit != RLIM_INFINITY {
            let [own, _] = added(kind);
            return note_limit(kind, limit.saturating_sub(own), true);
        }
    }
}

unsafe fn set_limit(pid: i32, number: c_uint, new: *const rlimit) -> c_int {
    unsafe {
        let is_own = pid == 0 || pid as u32 == sys::pid();
        let kind = kind_of(number).filter(|_| is_own && recording::is_recorded());
        if let (Some(kind), Some(&asked)) = (kind, new.as_ref())
            && is_recorded_process()
        {
            let is_limit = asked.rlim_cur != RLIM_INFINITY;
            let is_valid = asked.rlim_cur <= asked.rlim_max;
            let is_widened = is_limit && is_valid && set_with_room(kind, asked);
            if is_limit {
                note_limit(kind, asked.rlim_cur, !is_widened);
            }
            if is_widened {
                return 0;
            }
            set_added(kind, [0, 0]);
        }
        change_limit(pid, number, new, null_mut())
    }
}

unsafe fn get_limit(pid: i32, number: c_uint, old: *mut rlimit) -> c_int {
    unsafe {
        let result = change_limit(pid, number, null(), old);
        let is_own = pid == 0 || pid as u32 == sys::pid();
        if let (0, Some(kind), Some(limit)) = (result, kind_of(number), old.as_mut())
            && is_own
        {
            let limits = [&mut limit.rlim_cur, &mut limit.rlim_max];
            for (bytes, more) in limits.into_iter().zip(added(kind)) {
                if *bytes != RLIM_INFINITY {
                    *bytes = bytes.saturating_sub(more);
                }
            }
        }
        result
    }
}

macro_rules! limit_functions {
    ($($get:ident $set:ident $both:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $get(number: c_uint, old: *mut rlimit) -> c_int {
            unsafe { get_limit(0, number, old) }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $set(number: c_uint, new: *const rlimit) -> c_int {
            unsafe { set_limit(0, number, new) }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $both(
            pid: i32,
            number: c_uint,
            new: *const rlimit,
            old: *mut rlimit,
        ) -> c_int {
            unsafe {
                if !old.is_null() && get_limit(pid, number, old) != 0 {
                    return -1;
                }
                if new.is_null() { 0 } else { set_limit(pid, number, new) }
            }
        }
    )*};
}

limit_functions! {
    getrlimit setrlimit prlimit;
    getrlimit64 setrlimit64 prlimit64;
}
