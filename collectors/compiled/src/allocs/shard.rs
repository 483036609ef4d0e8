//! Table by address, in shards with a lock each. It uses open addressing, and a shard doubles when
//! it fills.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, Ordering::*};

use crate::sys;

pub const SHARDS: usize = 64;
const FIRST_BITS: u32 = 8;

/// Allocation or named object.
#[derive(Clone, Copy)]
pub struct AllocationEntry {
    /// First byte; 0 if the slot is empty.
    pub start: u64,
    pub bytes: u64,
    /// Tickets of the shadow, as in the allocation's record.
    pub first_ticket: u64,
    pub end_ticket: u64,
    /// Events of its lines when its present life began.
    pub events_before: u64,
    /// Events in earlier lives.
    pub events: u64,
    /// Number of the call stack.
    pub stack: u32,
    pub name: u32,
    pub stride: u32,
    /// Forks between the first process and the one that wrote the entry; see [`Self::renew`].
    pub forks: u32,
}

impl AllocationEntry {
    /// Makes an entry of the process that forked this one the child's own: its events and tickets
    /// were the parent's.
    pub fn renew(&mut self, forks: u32) {
        if self.forks != forks {
            self.forks = forks;
            self.first_ticket = 0;
            self.events_before = 0;
            self.events = 0;
        }
    }

    /// Returns true if `other` is the same memory allocated again by the same caller.
    pub fn is_like(&self, other: &Self) -> bool {
        let key = |e: &Self| (e.start, e.bytes, e.stack, e.name, e.stride);
        key(self) == key(other)
    }
}

struct AllocationShard {
    entries: *mut AllocationEntry,
    /// Binary logarithm of the table's size; 0 if there is no table.
    bits: u32,
    used: usize,
}

#[repr(align(64))]
struct ShardSlot {
    lock: AtomicU32,
    shard: UnsafeCell<AllocationShard>,
}

/// Entries by address.
pub struct AllocationShards {
    slots: [ShardSlot; SHARDS],
    /// Forks between the first process and this one.
    forks: AtomicU32,
}

// SAFETY: a shard is only accessed under its lock.
unsafe impl Sync for AllocationShards {}

fn hash(start: u64) -> u64 {
    (start >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl AllocationShards {
    pub const fn new() -> Self {
        Self {
            slots: [const {
                ShardSlot {
                    lock: AtomicU32::new(0),
                    shard: UnsafeCell::new(AllocationShard {
                        entries: std::ptr::null_mut(),
                        bits: 0,
                        used: 0,
                    }),
                }
            }; SHARDS],
            forks: AtomicU32::new(0),
        }
    }

    /// Returns the forks between the first process and this one.
    pub fn forks(&self) -> u32 {
        self.forks.load(Relaxed)
    }

    /// Locks all shards, so that a fork finds none of them half changed.
    pub fn lock_all(&self) {
        for n in 0..SHARDS {
            std::mem::forget(self.lock_slot(n));
        }
    }

    /// Unlocks the shards that [`lock_all`](Self::lock_all) has locked. In a forked child, the
    /// entries are from then on those of the parent.
    pub fn unlock_all(&self, is_child: bool) {
        self.forks.fetch_add(u32::from(is_child), Relaxed);
        for slot in &self.slots {
            slot.lock.store(0, Release);
        }
    }

    /// Locks the shard of `start`.
    pub fn lock(&self, start: u64) -> ShardGuard<'_> {
        self.lock_slot(hash(start) as usize >> 4 & (SHARDS - 1))
    }

    fn lock_slot(&self, n: usize) -> ShardGuard<'_> {
        let slot = &self.slots[n];
        let mut spins = 0u32;
        while slot
            .lock
            .compare_exchange_weak(0, 1, Acquire, Relaxed)
            .is_err()
        {
            spins += 1;
            if spins.is_multiple_of(64) {
                sys::relax();
            } else {
                std::hint::spin_loop();
            }
        }
        ShardGuard {
            slot,
            forks: self.forks(),
        }
    }

    /// Locks shard `n` unless it is locked.
    pub fn try_lock(&self, n: usize) -> Option<ShardGuard<'_>> {
        let slot = &self.slots[n];
        slot.lock
            .compare_exchange(0, 1, Acquire, Relaxed)
            .is_ok()
            .then_some(ShardGuard {
                slot,
                forks: self.forks(),
            })
    }
}

/// Shard whose lock is held.
pub struct ShardGuard<'a> {
    slot: &'a ShardSlot,
    forks: u32,
}

impl Drop for ShardGuard<'_> {
    fn drop(&mut self) {
        self.slot.lock.store(0, Release);
    }
}

impl ShardGuard<'_> {
    fn shard(&mut self) -> &mut AllocationShard {
        // SAFETY: the lock is held.
        unsafe { &mut *self.slot.shard.get() }
    }

    pub fn find(&mut self, start: u64) -> Option<&mut AllocationEntry> {
        let forks = self.forks;
        let shard = self.shard();
        let at = shard.entry_index(start)?;
        // SAFETY: within the table.
        let entry = unsafe { &mut *shard.entries.add(at) };
        if entry.start != start {
            return None;
        }
        entry.renew(forks);
        Some(entry)
    }

    /// Adds an entry with a new address. It is dropped if memory is exhausted.
    pub fn insert(&mut self, entry: AllocationEntry) {
        let shard = self.shard();
        if (shard.bits == 0 || shard.used * 4 >= 3 << shard.bits) && shard.grow().is_none() {
            return;
        }
        if let Some(at) = shard.entry_index(entry.start) {
            // SAFETY: within the table.
            unsafe { *shard.entries.add(at) = entry };
            shard.used += 1;
        }
    }

    pub fn remove(&mut self, start: u64) {
        self.shard().remove(start);
    }

    pub fn for_each(&mut self, mut each: impl FnMut(AllocationEntry)) {
        let forks = self.forks;
        for entry in self.shard().entries_mut() {
            if entry.start != 0 {
                // A copy: what a child leaves as it was shares its memory with the parent.
                let mut entry = *entry;
                entry.renew(forks);
                each(entry);
            }
        }
    }
}

impl AllocationShard {
    fn entries_mut(&mut self) -> &mut [AllocationEntry] {
        if self.bits == 0 {
            return &mut [];
        }
        // SAFETY: the table has this many entries, zeroed or written.
        unsafe { std::slice::from_raw_parts_mut(self.entries, 1 << self.bits) }
    }

    /// Returns the index of `start`, or of the free slot for it; `None` without a table.
    fn entry_index(&self, start: u64) -> Option<usize> {
        if self.bits == 0 {
            return None;
        }
        let mask = (1 << self.bits) - 1;
        let mut at = (hash(start) >> 20) as usize & mask;
        // SAFETY: masked to the size of the table, a quarter of which is empty.
        while !matches!(unsafe { (*self.entries.add(at)).start }, s if s == 0 || s == start) {
            at = (at + 1) & mask;
        }
        Some(at)
    }

    fn grow(&mut self) -> Option<()> {
        let bits = if self.bits == 0 {
            FIRST_BITS
        } else {
            self.bits + 1
        };
        let mut next = Self {
            entries: sys::zeroed(size_of::<AllocationEntry>() << bits)?.cast(),
            bits,
            used: self.used,
        };
        for entry in self.entries_mut() {
            if entry.start != 0
                && let Some(at) = next.entry_index(entry.start)
            {
                // SAFETY: within the new table.
                unsafe { *next.entries.add(at) = *entry };
            }
        }
        std::mem::swap(self, &mut next);
        if next.bits > 0 {
            // SAFETY: nothing refers to the old table any more.
            unsafe {
                sys::unmap(
                    next.entries.cast(),
                    size_of::<AllocationEntry>() << next.bits,
                )
            };
        }
        Some(())
    }

    /// Empties a slot, and moves up the entries behind it that belong before it.
    fn remove(&mut self, start: u64) {
        let Some(mut hole) = self.entry_index(start) else {
            return;
        };
        let mask = (1usize << self.bits) - 1;
        let entries = self.entries_mut();
        if entries[hole].start == 0 {
            return;
        }
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let start = entries[at].start;
            if start == 0 {
                break;
            }
            let home = (hash(start) >> 20) as usize & mask;
            let from_home = at.wrapping_sub(home) & mask;
            if from_home >= at.wrapping_sub(hole) & mask {
                entries[hole] = entries[at];
                hole = at;
            }
        }
        entries[hole].start = 0;
        self.used -= 1;
    }
}
