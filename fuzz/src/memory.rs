//! How much memory an input takes. The threads that look at one share an account, to which an
//! allocator charges what they take and give back; other threads are not counted.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};

/// The system's allocator, with a look at the account of the thread that asks.
pub struct CountingAllocator;

/// Bytes that a group of threads has allocated.
#[derive(Debug, Default)]
pub struct MemoryAccount {
    live: AtomicIsize,
    peak: AtomicIsize,
}

/// An account may grow to this. Above it there is no more memory, so that an endless loop does not
/// take the machine with it: the program ends.
const ACCOUNT_BYTES_MAX: isize = 3 << 30;

thread_local! {
    static ACCOUNT: Cell<Option<&'static MemoryAccount>> = const { Cell::new(None) };
}

impl MemoryAccount {
    /// An account for threads to [`join`](Self::join).
    pub fn open() -> &'static Self {
        Box::leak(Box::default())
    }

    /// From now on what the calling thread allocates is charged to this account.
    pub fn join(&'static self) {
        ACCOUNT.set(Some(self));
    }

    /// Starts to look for the largest sum; returns the one at this moment, in bytes.
    pub fn start(&self) -> isize {
        let live = self.live.load(Relaxed);
        self.peak.store(live, Relaxed);
        live
    }

    /// The largest sum since [`start`](Self::start), in bytes.
    pub fn peak(&self) -> isize {
        self.peak.load(Relaxed)
    }

    /// Adds bytes (negative: removes); returns whether the account allows them.
    fn charge(&self, bytes: isize) -> bool {
        let live = self.live.fetch_add(bytes, Relaxed) + bytes;
        if bytes > 0 {
            self.peak.fetch_max(live, Relaxed);
        }
        live < ACCOUNT_BYTES_MAX
    }
}

fn charge(bytes: usize, sign: isize) -> bool {
    // A thread that ends has no account any more.
    let account = ACCOUNT.try_with(Cell::get).ok().flatten();
    account.is_none_or(|account| account.charge(bytes as isize * sign))
}

// SAFETY: everything is handed to the system's allocator as it came; a null pointer says that there
// is no memory, as it may.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if charge(layout.size(), 1) {
            // SAFETY: as the caller promises.
            unsafe { System.alloc(layout) }
        } else {
            std::ptr::null_mut()
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if charge(layout.size(), 1) {
            // SAFETY: as the caller promises.
            unsafe { System.alloc_zeroed(layout) }
        } else {
            std::ptr::null_mut()
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        charge(layout.size(), -1);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if !charge(new_size, 1) {
            return std::ptr::null_mut();
        }
        charge(layout.size(), -1);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(memory, layout, new_size) }
    }
}
