//! Memory that is kept until the process ends: what the shadow is made of.
//!
//! It is taken from the system in large aligned pieces, for which huge pages are asked. The state of a
//! server's lines lies scattered over hundreds of megabytes; with small pages, many a look at it would
//! also wait for the processor to find the page.

use std::sync::atomic::{AtomicUsize, Ordering::*};

use crate::sys;

/// Bytes of a huge page.
const HUGE_BYTES: usize = 2 << 20;
/// Bytes of a piece.
const PIECE_BYTES: usize = 4 * HUGE_BYTES;
/// Requests of more than this get a mapping of their own.
const SHARED_MAX: usize = PIECE_BYTES / 4;
const PAGE_BYTES: usize = 4096;

/// The next free byte of the last piece; a multiple of [`PIECE_BYTES`]: it is used up.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// `bytes` of zeroed memory, page-aligned, to be kept; `None` if there is none.
pub fn zeroed(bytes: usize) -> Option<*mut u8> {
    if bytes > SHARED_MAX {
        return map_aligned(bytes);
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
            Ok(_) => return Some(at as *mut u8),
            Err(now) => next = now,
        }
        if let Some(piece) = piece {
            // SAFETY: just mapped, and nobody has it.
            unsafe { sys::unmap(piece, PIECE_BYTES) };
        }
    }
}

/// A mapping at a multiple of [`PIECE_BYTES`].
fn map_aligned(bytes: usize) -> Option<*mut u8> {
    let mapped = bytes.checked_add(PIECE_BYTES)?;
    let start = sys::zeroed(mapped)?;
    let before = start.align_offset(PIECE_BYTES);
    let end = before + bytes.next_multiple_of(PAGE_BYTES);
    let at = start.wrapping_add(before);
    // SAFETY: what lies outside of it in what was just mapped.
    unsafe {
        sys::unmap(start, before);
        sys::unmap(start.wrapping_add(end), mapped - end);
    }
    sys::ask_for_huge_pages(at, bytes);
    Some(at)
}
