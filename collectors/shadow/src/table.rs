//! A fixed table of wire records that adds up equal keys and empties into a segment.

use crate::shadow::Host;
use crate::wire::{ConflictRecord, CountRecord, LineRecord, Record};

/// A record that can be its own table entry: all-zero is empty.
pub trait Entry: Record {
    fn hash(&self) -> u64;
    fn same_key(&self, other: &Self) -> bool;
    fn is_empty(&self) -> bool;
    fn add(&mut self, other: &Self);
}

/// Entries of the front, which takes the keys in use without a look at the table proper.
const FRONT: usize = 1024;

/// Open addressing with linear probing over `2^bits` entries of host memory, behind a small
/// direct-mapped front that stays in the cache.
pub struct Table<E: Entry> {
    front: *mut E,
    entries: *mut E,
    mask: usize,
    used: usize,
}

impl<E: Entry> Table<E> {
    /// `None` if the host has no memory.
    pub fn new<H: Host>(bits: u32, host: &H) -> Option<Self> {
        let front = host.zeroed(size_of::<E>() * FRONT)?.cast();
        let entries = host.zeroed(size_of::<E>() << bits)?.cast();
        Some(Self { front, entries, mask: (1 << bits) - 1, used: 0 })
    }

    /// Adds `entry` to the one with its key.
    #[inline]
    pub fn add(&mut self, entry: &E) {
        let hash = entry.hash();
        // SAFETY: the index is below the front's size.
        let slot = unsafe { &mut *self.front.add((hash >> 52) as usize % FRONT) };
        if slot.same_key(entry) && !slot.is_empty() {
            slot.add(entry);
            return;
        }
        let old = core::mem::replace(slot, *entry);
        if !old.is_empty() {
            self.add_behind(&old);
        }
    }

    fn add_behind(&mut self, entry: &E) {
        let mut at = (entry.hash() >> 20) as usize & self.mask;
        loop {
            // SAFETY: `at` is masked to the table's size.
            let slot = unsafe { &mut *self.entries.add(at) };
            if slot.same_key(entry) && !slot.is_empty() {
                slot.add(entry);
                return;
            }
            if slot.is_empty() {
                *slot = *entry;
                self.used += 1;
                return;
            }
            at = (at + 1) & self.mask;
        }
    }

    /// Whether it should be drained before more is added.
    #[inline]
    pub fn is_full(&self) -> bool {
        (self.used + FRONT) * 8 > self.mask * 6
    }

    /// Hands all entries to `put` and empties the table.
    pub fn drain(&mut self, put: impl FnOnce(&[E])) {
        for n in 0..FRONT {
            // SAFETY: below the front's size; all-zero is the empty entry.
            let old = unsafe { core::mem::replace(&mut *self.front.add(n), core::mem::zeroed()) };
            if !old.is_empty() {
                self.add_behind(&old);
            }
        }
        if self.used == 0 {
            return;
        }
        // SAFETY: the table has `mask + 1` initialised (zeroed or written) entries.
        let all = unsafe { core::slice::from_raw_parts_mut(self.entries, self.mask + 1) };
        let mut kept = 0;
        for at in 0..all.len() {
            if !all[at].is_empty() {
                all.swap(kept, at);
                kept += 1;
            }
        }
        put(&all[..kept]);
        // SAFETY: all-zero is the empty entry.
        unsafe { core::ptr::write_bytes(self.entries, 0, kept) };
        self.used = 0;
    }
}

const K: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(a: u64, b: u64) -> u64 {
    let x = (a ^ b.rotate_left(32)).wrapping_mul(K);
    (x ^ (x >> 29)).wrapping_mul(K)
}

impl Entry for CountRecord {
    #[inline]
    fn hash(&self) -> u64 {
        mix(self.addr, u64::from(self.site) << 2 | u64::from(self.access))
    }
    #[inline]
    fn same_key(&self, o: &Self) -> bool {
        self.addr == o.addr && self.site == o.site && self.size == o.size && self.access == o.access
    }
    #[inline]
    fn is_empty(&self) -> bool {
        self.count == 0
    }
    #[inline]
    fn add(&mut self, o: &Self) {
        self.count = self.count.saturating_add(o.count);
        self.silent = self.silent.saturating_add(o.silent);
    }
}

impl Entry for ConflictRecord {
    fn hash(&self) -> u64 {
        let a = mix(self.addr, u64::from(self.site) << 32 | u64::from(self.other_site));
        mix(a, self.other_addr)
    }
    fn same_key(&self, o: &Self) -> bool {
        self.addr == o.addr
            && self.other_addr == o.other_addr
            && self.site == o.site
            && self.other_site == o.other_site
            && self.size == o.size
            && self.access == o.access
            && self.other_size == o.other_size
            && self.other_access == o.other_access
            && self.other_context == o.other_context
            && self.transfer == o.transfer
    }
    fn is_empty(&self) -> bool {
        self.count == 0 && self.false_lifetime == 0
    }
    fn add(&mut self, o: &Self) {
        self.count = self.count.saturating_add(o.count);
        self.false_first_touch = self.false_first_touch.saturating_add(o.false_first_touch);
        self.false_lifetime = self.false_lifetime.saturating_add(o.false_lifetime);
    }
}

impl Entry for LineRecord {
    fn hash(&self) -> u64 {
        mix(self.line, 0)
    }
    fn same_key(&self, o: &Self) -> bool {
        self.line == o.line
    }
    fn is_empty(&self) -> bool {
        self.line == 0
    }
    fn add(&mut self, o: &Self) {
        self.reads += o.reads;
        self.writes += o.writes;
        self.read_transfers += o.read_transfers;
        self.write_transfers += o.write_transfers;
        self.upgrades += o.upgrades;
        self.order_errors += o.order_errors;
    }
}
