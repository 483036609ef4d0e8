//! Memory of the shadow, which is never given back.

use std::sync::{Mutex, PoisonError};

/// Bytes of a huge page.
const HUGE_BYTES: usize = 2 << 20;
const PAGE_BYTES: usize = 4096;

/// Source of zeroed memory, with pages of one size.
pub struct MemoryPieces {
    /// Start and end of what is left of the last piece; `None` for small pages.
    left: Option<Mutex<(usize, usize)>>,
}

impl MemoryPieces {
    /// Takes memory in pieces of huge pages. The state of lines lies scattered over tens of
    /// megabytes, and with small pages many accesses to it also miss the TLB.
    pub fn huge() -> Self {
        Self {
            left: Some(Mutex::new((0, 0))),
        }
    }

    /// Takes memory in small pages, which cost nothing until they are touched.
    pub fn small() -> Self {
        Self { left: None }
    }

    /// Returns `bytes` of zeroed, page-aligned memory; `None` if there is none.
    pub fn zeroed(&self, bytes: usize) -> Option<*mut u8> {
        let Some(left) = &self.left else {
            return Some(map(bytes)? as *mut u8);
        };
        let bytes = bytes.next_multiple_of(PAGE_BYTES);
        let mut left = left.lock().unwrap_or_else(PoisonError::into_inner);
        if left.1 - left.0 < bytes {
            let whole = bytes.next_multiple_of(HUGE_BYTES);
            let mapped = map(whole + HUGE_BYTES)?;
            let start = mapped.next_multiple_of(HUGE_BYTES);
            *left = (start, start + whole);
            // SAFETY: within the new mapping; a hint.
            unsafe { libc::madvise(start as *mut _, whole, libc::MADV_HUGEPAGE) };
        }
        let at = left.0;
        left.0 += bytes;
        Some(at as *mut u8)
    }
}

fn map(bytes: usize) -> Option<usize> {
    // SAFETY: a new private mapping.
    let at = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    (at != libc::MAP_FAILED).then_some(at as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_zeroed_and_apart() {
        for source in [MemoryPieces::huge(), MemoryPieces::small()] {
            let sizes = [
                1,
                PAGE_BYTES,
                HUGE_BYTES - PAGE_BYTES,
                3 * HUGE_BYTES + 1,
                7,
            ];
            let mut taken: Vec<(usize, usize)> = Vec::new();
            for bytes in sizes {
                let at = source.zeroed(bytes).unwrap();
                assert_eq!(at as usize % PAGE_BYTES, 0);
                // SAFETY: fresh memory of that size.
                let piece = unsafe { std::slice::from_raw_parts_mut(at, bytes) };
                assert!(piece.iter().all(|byte| *byte == 0));
                piece.fill(1);
                let own = (at as usize, at as usize + bytes);
                assert!(
                    taken
                        .iter()
                        .all(|other| own.1 <= other.0 || other.1 <= own.0)
                );
                taken.push(own);
            }
        }
    }
}
