//! Records that a context has gathered and not appended yet.

use crate::host::CollectorHost;
use crate::wire::WireRecord;

/// Up to a fixed number of records, in memory of the host's.
pub struct RecordBuffer<R> {
    records: *mut R,
    len: usize,
    capacity: usize,
}

impl<R: WireRecord> RecordBuffer<R> {
    /// An empty buffer with room for `capacity` records; `None` if the host has no memory.
    pub fn new<H: CollectorHost>(capacity: usize, host: &H) -> Option<Self> {
        Some(Self {
            records: host.zeroed(capacity * size_of::<R>())?.cast(),
            len: 0,
            capacity,
        })
    }

    /// Adds a record. The buffer must not be full.
    #[inline]
    pub fn push(&mut self, record: R) {
        debug_assert!(!self.is_full());
        // SAFETY: the owner takes the records before the buffer is full.
        unsafe { self.records.add(self.len).write(record) };
        self.len += 1;
    }

    /// Returns the record that was added last.
    pub fn last_mut(&mut self) -> Option<&mut R> {
        // SAFETY: `len` records were written.
        let records = unsafe { core::slice::from_raw_parts_mut(self.records, self.len) };
        records.last_mut()
    }

    /// Drops the record that was added last, if there is one.
    pub fn drop_last(&mut self) {
        self.len = self.len.saturating_sub(1);
    }

    /// Returns whether there is no room for another record.
    pub fn is_full(&self) -> bool {
        self.len == self.capacity
    }

    /// Empties the buffer, and returns what was in it.
    pub fn take_records(&mut self) -> &[R] {
        let len = core::mem::take(&mut self.len);
        // SAFETY: `len` records were written.
        unsafe { core::slice::from_raw_parts(self.records, len) }
    }
}
