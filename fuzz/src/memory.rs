//! Memory use of an input. The threads that process an input share an account, and the allocator
//! counts their allocated and freed bytes in this account. Other threads are not counted.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};

/// Allocator that counts bytes in the account of the calling thread, on top of the system's
/// allocator.
pub struct CountingAllocator;

/// Number of bytes that a group of threads has allocated.
#[derive(Debug, Default)]
pub struct MemoryAccount {
    live: AtomicIsize,
    peak: AtomicIsize,
}

/// Largest number of bytes of an account. Allocations beyond it fail and end the program, so that
/// an endless loop does not use up the memory of the machine.
const ACCOUNT_BYTES_MAX: isize = 3 << 30;

thread_local! {
    static ACCOUNT: Cell<Option<&'static MemoryAccount>> = const { Cell::new(None) };
}

impl MemoryAccount {
    /// Returns a new account that threads can [`join`](Self::join).
    pub fn open() -> &'static Self {
        Box::leak(Box::default())
    }

    /// Counts later allocations of the calling thread in this account.
    pub fn join(&'static self) {
        ACCOUNT.set(Some(self));
    }

    /// Resets the peak to the current number of bytes, and returns this number.
    pub fn start(&self) -> isize {
        let live = self.live.load(Relaxed);
        self.peak.store(live, Relaxed);
        live
    }

    /// Largest number of bytes of the account since [`start`](Self::start).
    pub fn peak(&self) -> isize {
        self.peak.load(Relaxed)
    }

    /// Adds `bytes`, or removes them if negative. Returns true if the account allows them.
    fn charge(&self, bytes: isize) -> bool {
        let live = self.live.fetch_add(bytes, Relaxed) + bytes;
        if bytes > 0 {
            self.peak.fetch_max(live, Relaxed);
        }
        live < ACCOUNT_BYTES_MAX
    }
}

fn charge(bytes: usize, sign: isize) -> bool {
    // A thread that is ending has no account.
    let account = ACCOUNT.try_with(Cell::get).ok().flatten();
    account.is_none_or(|account| account.charge(bytes as isize * sign))
}

// SAFETY: every call passes its arguments unchanged to the system's allocator. A null pointer
// reports that no memory is left, which the trait allows.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if charge(layout.size(), 1) {
            // SAFETY: the caller keeps the contract of `GlobalAlloc`.
            unsafe { System.alloc(layout) }
        } else {
            std::ptr::null_mut()
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if charge(layout.size(), 1) {
            // SAFETY: the caller keeps the contract of `GlobalAlloc`.
            unsafe { System.alloc_zeroed(layout) }
        } else {
            std::ptr::null_mut()
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        charge(layout.size(), -1);
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if !charge(new_size, 1) {
            return std::ptr::null_mut();
        }
        charge(layout.size(), -1);
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { System.realloc(memory, layout, new_size) }
    }
}
