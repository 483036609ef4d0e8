//! Ordered logs of the accesses around hot lines.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

use crate::wire::{BurstRecord, RegionRecord};

/// Records that a context gathers before it appends them.
pub const BUFFER_RECORDS: usize = 16 * 1024;

/// An aligned stretch of memory that is, or was, logged. All-zero is a fresh one.
#[repr(C)]
pub struct Region {
    pub first_ticket: u64,
    pub first_op: u64,
    /// Accesses logged.
    pub count: AtomicU32,
    pub closed: AtomicBool,
    pub end_ticket: AtomicU64,
    pub end_op: AtomicU64,
}

/// A context's records that are not appended yet.
pub struct Buffer {
    pub records: *mut BurstRecord,
    pub len: usize,
}

impl Buffer {
    #[inline]
    pub fn push(&mut self, record: BurstRecord) {
        debug_assert!(self.len < BUFFER_RECORDS);
        // SAFETY: the owner drains before the buffer is full.
        unsafe { self.records.add(self.len).write(record) };
        self.len += 1;
    }

    pub fn is_full(&self) -> bool {
        self.len == BUFFER_RECORDS
    }

    pub fn take(&mut self) -> &[BurstRecord] {
        let len = core::mem::take(&mut self.len);
        // SAFETY: `len` records were written.
        unsafe { core::slice::from_raw_parts(self.records, len) }
    }
}

/// The region at `start` as it leaves.
pub fn region_record(start: u64, region: &Region, end_ticket: u64, end_op: u64) -> RegionRecord {
    RegionRecord {
        start,
        first_ticket: region.first_ticket,
        end_ticket,
        first_op: region.first_op,
        end_op,
        bytes: crate::REGION_BYTES as u32,
        reserved: 0,
    }
}
