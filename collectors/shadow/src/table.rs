//! Wire records that add up equal keys, within the memory that a cache can hold.
//!
//! Two levels: a direct-mapped front, and buckets of a few entries behind it. What falls out goes
//! to a buffer and from there into a segment: records are deltas, so a key may leave several times,
//! and no access ever waits for a long search. Nor for memory: a record waits a while for its place
//! in the front, and what leaves the front for its bucket, until the place, which mostly is in no
//! cache near, has come.
//!
//! A table in which more falls out than it holds is too small for what is accessed again and again:
//! it grows, or the file would, by a record for each access.

use crate::host::CollectorHost;
use crate::wire::{ConflictRecord, CountRecord, LineRecord, WireRecord};

/// A record that can be its own table entry: all-zero is empty.
pub trait SummedRecord: WireRecord {
    fn hash(&self) -> u64;
    fn same_key(&self, other: &Self) -> bool;
    fn is_empty(&self) -> bool;
    fn add(&mut self, other: &Self);
}

const BUCKET: usize = 4;
/// Entries on their way to the front, and as many from there to a bucket.
const MOVING: usize = 8;
/// Entries that fell out, gathered before they are appended.
const SPILL: usize = 4096;
/// A table grows by this factor: the entries of a bucket then spread over as many of which no other
/// has a part.
const GROWTH: usize = 4;
/// Entries behind the front, at most: of what is accessed in no order over more than that, each
/// access is a record.
const ENTRIES_MAX: usize = 1 << 20;

/// An entry on its way, and its hash. All-zero is none.
struct MovingEntry<E> {
    entry: E,
    hash: u64,
}

impl<E: SummedRecord> MovingEntry<E> {
    const fn none() -> Self {
        // SAFETY: a record of plain numbers, for which all-zero is valid, and empty.
        unsafe { core::mem::zeroed() }
    }
}

/// Entries on their way to a place that is being fetched. All-zero has none.
struct EntryQueue<E> {
    entries: [MovingEntry<E>; MOVING],
    oldest: usize,
}

impl<E> EntryQueue<E> {
    /// Returns the place of the oldest entry, which the next one takes.
    #[inline]
    fn next_place(&mut self) -> *mut MovingEntry<E> {
        let at = self.oldest % MOVING;
        self.oldest = at + 1;
        &raw mut self.entries[at]
    }
}

/// See the module's documentation.
pub struct RecordTable<E: SummedRecord> {
    front: *mut E,
    front_mask: usize,
    entries: *mut E,
    mask: usize,
    /// Entries on their way to the front, then those on their way to a bucket.
    moving: *mut [EntryQueue<E>; 2],
    spill: *mut E,
    spilt: usize,
    /// Entries that fell out since it has this size.
    lost: usize,
}

impl<E: SummedRecord> RecordTable<E> {
    /// With `2^front_bits` entries in front, at most 2^12, and `2^bits` behind; `None` if the host
    /// has no memory.
    pub fn new<H: CollectorHost>(front_bits: u32, bits: u32, host: &H) -> Option<Self> {
        let zeroed = |n: usize| Some(host.zeroed(size_of::<E>() * n)?.cast());
        Some(Self {
            front: zeroed(1 << front_bits)?,
            front_mask: (1 << front_bits) - 1,
            entries: zeroed(1 << bits)?,
            mask: (1 << bits) - 1,
            moving: host.zeroed(size_of::<[EntryQueue<E>; 2]>())?.cast(),
            spill: zeroed(SPILL)?,
            spilt: 0,
            lost: 0,
        })
    }

    /// Makes room if more fell out than it holds. Not if the host has no memory. To be called when
    /// nothing has fallen out since [`RecordTable::take_spilt`].
    pub fn grow<H: CollectorHost>(&mut self, host: &H) {
        let len = self.mask + 1;
        if self.lost < len || len * GROWTH > ENTRIES_MAX {
            return;
        }
        let Some(entries) = host.zeroed(size_of::<E>() * len * GROWTH) else {
            return;
        };
        // SAFETY: as many as there are; nothing else refers to them, and they are given up.
        let old = unsafe { core::slice::from_raw_parts(self.entries, len) };
        self.entries = entries.cast();
        self.mask = len * GROWTH - 1;
        self.lost = 0;
        for &entry in old {
            let hash = entry.hash();
            self.add_behind(&MovingEntry { entry, hash });
        }
    }

    /// Adds `entry` to the one with its key. The caller then looks at [`RecordTable::is_full`].
    #[inline]
    pub fn add(&mut self, entry: &E) {
        let hash = entry.hash();
        prefetch(self.front_slot(hash));
        let place = self.queue(0).next_place();
        // SAFETY: a place of the queue, to which nothing else refers, and no method puts anything
        // into this queue but this one.
        unsafe {
            self.add_in_front(&*place);
            *place = MovingEntry {
                entry: *entry,
                hash,
            };
        }
    }

    #[inline]
    fn queue(&mut self, n: usize) -> &mut EntryQueue<E> {
        // SAFETY: one of two zeroed queues, to which nothing else refers.
        unsafe { &mut *self.moving.cast::<EntryQueue<E>>().add(n) }
    }

    /// The place in front for `hash`.
    #[inline]
    fn front_slot(&self, hash: u64) -> *mut E {
        // SAFETY: the index is below the front's size.
        unsafe { self.front.add((hash >> 52) as usize & self.front_mask) }
    }

    /// Adds an entry that was on its way, if it is one.
    #[inline]
    fn add_in_front(&mut self, new: &MovingEntry<E>) {
        if new.entry.is_empty() {
            return;
        }
        // SAFETY: a place of the front's, and nothing else refers to it.
        let slot = unsafe { &mut *self.front_slot(new.hash) };
        if slot.same_key(&new.entry) && !slot.is_empty() {
            slot.add(&new.entry);
            return;
        }
        if !slot.is_empty() {
            self.move_behind(slot);
        }
        *slot = new.entry;
    }

    /// Begins to move an entry behind the front, and ends to move the oldest that is on its way.
    #[inline(never)]
    fn move_behind(&mut self, entry: &E) {
        let (entry, hash) = (*entry, entry.hash());
        let bucket = self.bucket(hash);
        prefetch(bucket);
        prefetch(bucket.wrapping_add(BUCKET - 1));
        let place = self.queue(1).next_place();
        // SAFETY: as in `add`.
        unsafe {
            self.add_behind(&*place);
            *place = MovingEntry { entry, hash };
        }
    }

    /// The first entry of the bucket for `hash`.
    #[inline]
    fn bucket(&self, hash: u64) -> *mut E {
        let at = (hash >> 20) as usize & self.mask & !(BUCKET - 1);
        // SAFETY: a bucket lies within the table.
        unsafe { self.entries.add(at) }
    }

    /// Adds an entry that was on its way to its bucket, if it is one.
    #[inline]
    fn add_behind(&mut self, new: &MovingEntry<E>) {
        let MovingEntry { entry, hash } = new;
        if entry.is_empty() {
            return;
        }
        // SAFETY: a bucket lies within the table.
        let bucket = unsafe { core::slice::from_raw_parts_mut(self.bucket(*hash), BUCKET) };
        for slot in bucket.iter_mut() {
            if slot.is_empty() {
                *slot = *entry;
                return;
            }
            if slot.same_key(entry) {
                slot.add(entry);
                return;
            }
        }
        let victim = &mut bucket[(*hash >> 40) as usize % BUCKET];
        // SAFETY: `is_full` leaves room for one that falls out.
        unsafe { self.spill.add(self.spilt).write(*victim) };
        self.spilt += 1;
        *victim = *entry;
    }

    /// Takes out all that queue `n` has.
    fn take_moving(&mut self, n: usize) -> [MovingEntry<E>; MOVING] {
        core::mem::replace(
            &mut self.queue(n).entries,
            [const { MovingEntry::none() }; MOVING],
        )
    }

    /// Returns whether [`RecordTable::take_spilt`] must be called before the next record is added.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.spilt == SPILL
    }

    /// Hands out what fell out.
    pub fn take_spilt(&mut self, put: impl FnOnce(&[E])) {
        // SAFETY: that many were written.
        put(unsafe { core::slice::from_raw_parts(self.spill, self.spilt) });
        self.lost += self.spilt;
        self.spilt = 0;
    }

    /// Hands out everything, in pieces, and empties the table.
    pub fn drain(&mut self, mut put: impl FnMut(&[E])) {
        self.take_spilt(&mut put);
        for entry in self.take_moving(0) {
            self.add_in_front(&entry);
        }
        for entry in self.take_moving(1) {
            self.add_behind(&entry);
        }
        self.take_spilt(&mut put);
        for (level, len) in [
            (self.front, self.front_mask + 1),
            (self.entries, self.mask + 1),
        ] {
            // SAFETY: each level has that many initialised (zeroed or written) entries.
            let entries = unsafe { core::slice::from_raw_parts_mut(level, len) };
            let mut kept = 0;
            for at in 0..len {
                if !entries[at].is_empty() {
                    entries.swap(kept, at);
                    kept += 1;
                }
            }
            put(&entries[..kept]);
            // SAFETY: all-zero is the empty entry.
            unsafe { core::ptr::write_bytes(level, 0, kept) };
        }
    }
}

/// Has the cache line at `at` fetched while other things are done. Any address will do.
#[inline(always)]
pub fn prefetch<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which never faults.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

const K: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline]
fn mix_hash(a: u64, b: u64) -> u64 {
    let x = (a ^ b.rotate_left(32)).wrapping_mul(K);
    (x ^ (x >> 29)).wrapping_mul(K)
}

impl SummedRecord for CountRecord {
    #[inline]
    fn hash(&self) -> u64 {
        mix_hash(
            self.addr,
            u64::from(self.site) << 2 | u64::from(self.access),
        )
    }
    #[inline]
    fn same_key(&self, o: &Self) -> bool {
        self.addr == o.addr && self.site == o.site && self.size == o.size && self.access == o.access
    }
    #[inline]
    fn is_empty(&self) -> bool {
        self.count | self.silent == 0
    }
    #[inline]
    fn add(&mut self, o: &Self) {
        self.count = self.count.saturating_add(o.count);
        self.silent = self.silent.saturating_add(o.silent);
    }
}

impl SummedRecord for ConflictRecord {
    fn hash(&self) -> u64 {
        let a = mix_hash(
            self.addr,
            u64::from(self.site) << 32 | u64::from(self.other_site),
        );
        mix_hash(a, self.other_addr)
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

impl SummedRecord for LineRecord {
    fn hash(&self) -> u64 {
        mix_hash(self.line, 0)
    }
    fn same_key(&self, o: &Self) -> bool {
        self.line == o.line
    }
    fn is_empty(&self) -> bool {
        let transfers = self.first_reads | self.later_reads | self.write_transfers;
        transfers | self.upgrades | self.order_errors == 0 && self.reads | self.writes == 0
    }
    fn add(&mut self, o: &Self) {
        self.reads += o.reads;
        self.writes += o.writes;
        self.first_reads += o.first_reads;
        self.later_reads += o.later_reads;
        self.write_transfers += o.write_transfers;
        self.upgrades += o.upgrades;
        self.order_errors += o.order_errors;
    }
}

#[cfg(test)]
mod tests {
    use std::alloc::{Layout, alloc_zeroed};
    use std::collections::HashMap;

    use super::*;
    use crate::wire::SegmentHeader;

    struct Leaks;

    impl CollectorHost for Leaks {
        fn zeroed(&self, bytes: usize) -> Option<*mut u8> {
            let layout = Layout::from_size_align(bytes, 4096).ok()?;
            // SAFETY: not empty.
            Some(unsafe { alloc_zeroed(layout) })
        }
        fn append(&self, _: u16, _: &SegmentHeader, _: &[u8]) {}
        fn relax(&self) {}
    }

    /// Adds `accesses` entries of `keys` keys, drains now and then, and compares the sums.
    fn check(bits: u32, keys: u64, accesses: u64) {
        let mut table = RecordTable::<CountRecord>::new(10, bits, &Leaks).expect("memory");
        let (mut expected, mut found) = (HashMap::new(), HashMap::new());
        let mut collect = |records: &[CountRecord]| {
            for record in records {
                assert!(record.count | record.silent > 0);
                let sum = found.entry((record.addr, record.site)).or_insert((0, 0));
                *sum = (sum.0 + record.count, sum.1 + record.silent);
            }
        };
        for n in 0..accesses {
            let key = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
            let (addr, site, silent) = (key % keys * 8, key as u32 % 3, u32::from(n % 7 == 0));
            let record = CountRecord {
                addr,
                site,
                size: 8,
                access: 1,
                reserved: 0,
                count: 1,
                silent,
            };
            table.add(&record);
            let sum = expected.entry((addr, site)).or_insert((0, 0));
            *sum = (sum.0 + 1, sum.1 + silent);
            if n % 13 == 5 {
                // An earlier access proves silent later.
                let (count, silent) = (0, 1);
                if table.is_full() {
                    table.take_spilt(&mut collect);
                }
                table.add(&CountRecord {
                    count,
                    silent,
                    ..record
                });
                sum.1 += 1;
            }
            if table.is_full() {
                table.take_spilt(&mut collect);
                table.grow(&Leaks);
            }
            if n % 5000 == 4999 {
                table.drain(&mut collect);
            }
        }
        table.drain(&mut collect);
        assert_eq!(found, expected);
        table.drain(|records| assert!(records.is_empty(), "it was drained"));
    }

    /// Entries that fall out of a table of `2^bits` while `keys` keys are added in turn, `rounds`
    /// times.
    fn spilt(bits: u32, keys: u64, rounds: u64) -> usize {
        let mut table = RecordTable::<CountRecord>::new(10, bits, &Leaks).expect("memory");
        let mut spilt = 0;
        for n in 0..keys * rounds {
            table.add(&CountRecord {
                addr: n % keys,
                site: 1,
                size: 1,
                access: 0,
                reserved: 0,
                count: 1,
                silent: 0,
            });
            if table.is_full() {
                table.take_spilt(|records| spilt += records.len());
                table.grow(&Leaks);
            }
        }
        spilt
    }

    #[test]
    fn it_grows_with_what_is_accessed_again_and_again() {
        let (keys, rounds) = (100_000, 50);
        let spilt = spilt(10, keys, rounds);
        assert!(spilt < 4 * keys as usize, "{spilt} records");
    }

    #[test]
    fn what_goes_in_comes_out() {
        check(2, 10, 3000);
        check(4, 100_000, 30_000);
        check(12, 3000, 30_000);
        check(4, 20_000, 300_000);
    }
}
