//! Memory of the shadow, kept until the process ends.
//!
//! It comes from the system in large aligned pieces with huge pages. The state of a server's lines
//! is scattered over hundreds of megabytes; with small pages, many accesses to it would also miss
//! the TLB.

use std::sync::atomic::{AtomicUsize, Ordering::*};

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

/// Returns `bytes` of zeroed, page-aligned memory; `None` if memory is exhausted.
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
            // SAFETY: mapped by this call, and not given to anyone.
            unsafe { sys::unmap(piece, PIECE_BYTES) };
        }
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
    sys::ask_for_huge_pages(at, bytes);
    Some(at)
}
