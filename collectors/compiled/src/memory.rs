//! Memory of the shadow, kept until the process ends or goes on as a forked child.
//!
//! It comes from the system in large aligned pieces with huge pages. The state of a server's lines
//! is scattered over hundreds of megabytes; with small pages, many accesses to it would also miss
//! the TLB.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};

use crate::sys;

/// Bytes of a huge page.
const HUGE_BYTES: usize = 2 << 20;
/// Bytes of a piece.
const PIECE_BYTES: usize = 4 * HUGE_BYTES;
/// Largest request that shares a piece; larger ones get a mapping of their own.
const SHARED_MAX: usize = PIECE_BYTES / 4;
const PAGE_BYTES: usize = 4096;

/// Next free byte of the last piece. A multiple of [`PIECE_BYTES`] means that the piece is used up.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// Mappings that a forked child gives back, at most; it keeps a copy of further ones.
const MAPPINGS_MAX: usize = 1024;
/// Start and bytes of the mappings.
static MAPPINGS: [[AtomicUsize; 2]; MAPPINGS_MAX] =
    [const { [const { AtomicUsize::new(0) }; 2] }; MAPPINGS_MAX];
static MAPPINGS_MADE: AtomicUsize = AtomicUsize::new(0);
/// The system gives small pages, since many processes are recorded at the same time.
static SMALL_PAGES: AtomicBool = AtomicBool::new(false);

/// Gives back all memory that the parent had, in a forked child. `small_pages` says that the child's
/// own memory is to be of small pages.
///
/// # Safety
/// Nothing may use the memory any more.
pub unsafe fn forget_all(small_pages: bool) {
    let made = MAPPINGS_MADE.swap(0, Relaxed).min(MAPPINGS_MAX);
    for [start, bytes] in &MAPPINGS[..made] {
        let bytes = bytes.swap(0, Relaxed);
        if bytes != 0 {
            // SAFETY: a mapping of this module, which nothing uses, as promised by the caller.
            unsafe { sys::unmap(start.load(Relaxed) as *mut u8, bytes) };
        }
    }
    NEXT.store(0, Relaxed);
    SMALL_PAGES.store(small_pages, Relaxed);
}

/// Returns `bytes` of zeroed, page-aligned memory; `None` if memory is exhausted.
pub fn zeroed(bytes: usize) -> Option<*mut u8> {
    if bytes > SHARED_MAX {
        let at = map_aligned(bytes)?;
        list_mapping(at, bytes.next_multiple_of(PAGE_BYTES));
        return Some(at);
    }
    let bytes = bytes.next_multiple_of(PAGE_BYTES);
    let mut next = NEXT.load(Relaxed);
    loop {
        let left = next.next_multiple_of(PIECE_BYTES) - next;
        let piece = if bytes <= left {
            None
        } else {
            Some(map_aligned(PIECE_BYTES)?)
        };
        let at = piece.map_or(next, |piece| piece as usize);
        match NEXT.compare_exchange(next, at + bytes, Relaxed, Relaxed) {
            Ok(_) => {
                if let Some(piece) = piece {
                    list_mapping(piece, PIECE_BYTES);
                }
                return Some(at as *mut u8);
            }
            Err(now) => next = now,
        }
        if let Some(piece) = piece {
            // SAFETY: mapped by this call, and not given to anyone.
            unsafe { sys::unmap(piece, PIECE_BYTES) };
        }
    }
}

fn list_mapping(at: *mut u8, bytes: usize) {
    if let Some(mapping) = MAPPINGS.get(MAPPINGS_MADE.fetch_add(1, Relaxed)) {
        mapping[0].store(at as usize, Relaxed);
        mapping[1].store(bytes, Relaxed);
    }
}

/// Maps memory at a multiple of [`PIECE_BYTES`].
fn map_aligned(bytes: usize) -> Option<*mut u8> {
    let mapped = bytes.checked_add(PIECE_BYTES)?;
    let start = sys::zeroed(mapped)?;
    let before = start.align_offset(PIECE_BYTES);
    let end = before + bytes.next_multiple_of(PAGE_BYTES);
    let at = start.wrapping_add(before);
    // SAFETY: the parts of the new mapping before and after the piece.
    unsafe {
        sys::unmap(start, before);
        sys::unmap(start.wrapping_add(end), mapped - end);
    }
    if !SMALL_PAGES.load(Relaxed) {
        sys::ask_for_huge_pages(at, bytes);
    }
    Some(at)
}
