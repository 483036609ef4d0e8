//! Pairs of lines: some processors fetch a line's buddy, the other line of the aligned 128 bytes,
//! with it, so that a store to one line disturbs the users of the other.
//!
//! Such a line may have no coherence event of its own. Its accesses are the common case, which has
//! no room for more, so they are sampled. The collector counts down to one of each context's
//! accesses in [`ShadowConfig::pair_period`](crate::ShadowConfig::pair_period), at random distances
//! ([`ShadowContext::accesses_to_sample`](crate::ShadowContext::accesses_to_sample),
//! [`ShadowMemory::pass_accesses`](crate::ShadowMemory::pass_accesses)). If another context has
//! stored to the pair by then, a [`PairWatch`] notes how many stores the others made, and the words
//! of both lines are flagged, so that the context's next access to the pair takes the slow path. If
//! others have stored to the buddy of the accessed line meanwhile, and the context still has the
//! line itself, the access is a *pair transfer*: it would miss with lines of 128 bytes, and hits
//! with lines of 64.
//!
//! Each access to a pair follows on one other access of the same context, and that access is
//! sampled with equal probability wherever it is. So a sample stands for as many pair transfers as
//! accesses are passed over. Two kinds are missed: pairs to which a context returns so seldom that
//! another watch takes the slot ([`SLOTS`]), and pair transfers after the first store that others
//! made to a pair.

use core::sync::atomic::Ordering::*;

use crate::LINE_BYTES;
use crate::host::CollectorHost;
use crate::page::{PageShadow, WATCHED};
use crate::wire::PairRecord;

/// Watches that a context can have at once.
const SLOTS: usize = 256;
/// Records gathered before they are appended.
pub(crate) const RECORDS: usize = 1024;
/// Bytes of a pair.
pub(crate) const PAIR_BYTES: usize = 2 * LINE_BYTES;

/// State of a pair when a context had last used it. All-zero is no watch.
#[repr(C)]
pub(crate) struct PairWatch {
    pub(crate) shadow: *const PageShadow,
    /// The pair's first line, in its page.
    pub(crate) first: usize,
    /// The context's accesses to either line, as in [`crate::page::CountPage::cells`].
    pub(crate) own: [u64; 2],
    /// Others' stores to either line, wrapping.
    pub(crate) stores: [u32; 2],
}

/// The watches of one context, and the pair transfers that they found. All-zero is a fresh one,
/// which takes memory when it first watches.
pub struct PairWatches {
    pub(crate) slots: *mut PairWatch,
    records: *mut PairRecord,
    pub(crate) len: usize,
    random: u32,
    /// Accesses that are passed over before the next one that is looked at.
    pub(crate) left: u32,
}

impl PairWatches {
    pub const fn new() -> Self {
        Self {
            slots: core::ptr::null_mut(),
            records: core::ptr::null_mut(),
            len: 0,
            random: 0,
            left: 0,
        }
    }

    /// Allocates the slots on first use; returns whether there is memory.
    pub(crate) fn make_ready<H: CollectorHost>(&mut self, host: &H) -> bool {
        if self.records.is_null() {
            let Some(slots) = host.zeroed(SLOTS * size_of::<PairWatch>()) else {
                return false;
            };
            let Some(records) = host.zeroed(RECORDS * size_of::<PairRecord>()) else {
                return false;
            };
            (self.slots, self.records) = (slots.cast(), records.cast());
        }
        true
    }

    /// Draws the distance to the next access that is looked at: from half of `period` to half as
    /// much again.
    pub(crate) fn draw_period(&mut self, period: u32, context: u16) {
        if self.random == 0 {
            self.random = 0x9e37_79b9 ^ u32::from(context);
        }
        // Marsaglia's xorshift.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        self.left = (period / 2 + self.random % period.max(1)).saturating_sub(1);
    }

    /// Hands out the records gathered.
    pub fn take_records(&mut self) -> &[PairRecord] {
        let len = core::mem::take(&mut self.len);
        if len == 0 {
            return &[];
        }
        // SAFETY: that many were written.
        unsafe { core::slice::from_raw_parts(self.records, len) }
    }

    /// The place of a pair's watch, whether or not it is of that pair.
    pub(crate) fn watch_slot(&mut self, page: u64, first: usize) -> &mut PairWatch {
        let number = page / PAIR_BYTES as u64 + first as u64 / 2;
        // Neighbours get places of their own.
        let at = (number ^ number >> 13) as usize % SLOTS;
        // SAFETY: below the number of places, which were zeroed.
        unsafe { &mut *self.slots.add(at) }
    }

    pub(crate) fn push(&mut self, record: PairRecord) {
        debug_assert!(self.len < RECORDS);
        // SAFETY: whoever fills the last place hands all out.
        unsafe { self.records.add(self.len).write(record) };
        self.len += 1;
    }
}

impl PairWatch {
    pub(crate) fn watches_pair(&self, shadow: &PageShadow, first: usize) -> bool {
        core::ptr::eq(self.shadow, shadow) && self.first == first
    }

    /// Ends it, whatever it is of.
    pub(crate) fn stop(&mut self) {
        // SAFETY: page shadows are never freed.
        if let Some(shadow) = unsafe { self.shadow.as_ref() }
            && shadow.watchers[self.first / 2].fetch_sub(1, Relaxed) == 1
        {
            for word in &shadow.words[self.first..self.first + 2] {
                word.fetch_and(!WATCHED, Relaxed);
            }
        }
        self.shadow = core::ptr::null();
    }
}
