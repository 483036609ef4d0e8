//! Zeroed memory in small pieces, never given back while recording.

use crate::host::CollectorHost;

const CHUNK_BYTES: usize = 1 << 20;

/// Memory for the detail of lines: an arena of one context's, and the number of contexts.
pub struct LineMemory<'a, H> {
    pub arena: &'a mut ZeroedArena,
    pub host: &'a H,
    pub contexts: usize,
}

impl<H: CollectorHost> LineMemory<'_, H> {
    /// As [`ZeroedArena::zeroed`].
    pub fn zeroed<T>(&mut self) -> Option<*mut T> {
        self.arena.zeroed(self.host)
    }

    /// As [`ZeroedArena::zeroed_bytes`].
    pub fn zeroed_bytes(&mut self, bytes: usize, align: usize) -> Option<*mut u8> {
        self.arena.zeroed_bytes(bytes, align, self.host)
    }
}

/// A bump allocator over chunks of the host's memory; one per context, so it takes no lock.
pub struct ZeroedArena {
    next: usize,
    end: usize,
}

impl ZeroedArena {
    pub const fn new() -> Self {
        Self { next: 0, end: 0 }
    }

    /// A zeroed `T` that lives until the process ends; `None` if the host has no memory left.
    ///
    /// `T` must be valid when all its bytes are zero.
    pub fn zeroed<T, H: CollectorHost>(&mut self, host: &H) -> Option<*mut T> {
        self.zeroed_bytes(size_of::<T>(), align_of::<T>(), host)
            .map(|p| p.cast())
    }

    /// `bytes` of zeroed memory at a multiple of `align`.
    pub fn zeroed_bytes<H: CollectorHost>(
        &mut self,
        bytes: usize,
        align: usize,
        host: &H,
    ) -> Option<*mut u8> {
        if bytes > CHUNK_BYTES / 4 {
            return host.zeroed(bytes);
        }
        let mut at = self.next.next_multiple_of(align);
        if self.next == 0 || at + bytes > self.end {
            let chunk = host.zeroed(CHUNK_BYTES)? as usize;
            self.end = chunk + CHUNK_BYTES;
            at = chunk.next_multiple_of(align);
        }
        self.next = at + bytes;
        Some(at as *mut u8)
    }
}
