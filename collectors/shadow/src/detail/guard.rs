//! Effects of an access on a line, under the line's lock.

use core::sync::atomic::Ordering::*;

use super::parts::{LineTenure, LineValues, conflict_record};
use super::{
    AccessOutcome, FIRST_READ, LATER_READ, LineDetail, LineHistory, STORED, UPGRADE, WRITE_TRANSFER,
};
use crate::LINE_BYTES;
use crate::arena::LineMemory;
use crate::host::{AccessValue, CollectorHost};
use crate::past::{AccessedBytes, PastAccess, WORD_BYTES, byte_mask};
use crate::wire::ConflictRecord;

/// A line whose lock is held.
pub struct DetailGuard<'a> {
    pub(super) detail: &'a LineDetail,
}

impl Drop for DetailGuard<'_> {
    fn drop(&mut self) {
        self.detail.lock.store(0, Release);
    }
}

impl DetailGuard<'_> {
    #[inline]
    pub(super) fn history(&mut self) -> &mut LineHistory {
        // SAFETY: under the lock.
        unsafe { &mut *self.detail.history.get() }
    }

    /// One access, called on its context's thread. `line` is the line's address; `value` gives what
    /// was loaded or stored where that is known, and is asked only if it matters. `None` if there
    /// is no memory for it, and nothing was done.
    #[inline]
    pub fn access<H: CollectorHost>(
        &mut self,
        line: u64,
        now: PastAccess,
        value: impl FnOnce() -> Option<AccessValue>,
        memory: &mut LineMemory<'_, H>,
    ) -> Option<AccessOutcome> {
        let detail = self.detail;
        detail.make_room(now.context, memory)?;
        let mask = now.bytes.mask();
        let mut out = AccessOutcome {
            event: None,
            settled: None,
            silent: None,
            awaited: None,
            order_error: false,
            events: detail.events(),
        };
        let waited = self.end_wait();
        let had = detail.is_held(now.context);
        let writes = now.bytes.is_store();
        if had {
            self.note_use(now.context, mask);
        } else {
            if detail.stores.load(Relaxed) & STORED != 0 {
                out.settled = detail.settle(now.context, line);
                out.event = Some(self.begin_tenure(line, now, mask));
            }
            detail.add_holder(now.context);
            self.history().note_gain(now);
        }
        if writes || !had {
            match value() {
                Some(AccessValue::Awaited) if writes => {
                    out.awaited = self.begin_wait(now, waited.bytes.mask() & mask != 0, memory);
                }
                value => self.compare(now, mask, value, memory, &mut out),
            }
        }
        if writes {
            let is_alone = detail.is_held_once();
            if had && !is_alone {
                let gains = self.history().gains;
                let other = gains[usize::from(gains[0].context == now.context)];
                out.event = Some(ConflictRecord {
                    count: 1,
                    ..conflict_record(line, now, other, UPGRADE)
                });
            }
            let is_unchanged = out.silent == Some(true) || out.awaited.is_some();
            self.apply_store(now, mask, is_unchanged, is_alone);
        }
        if out.event.is_some() {
            out.events = out.events.saturating_add(1);
            detail.events.store(out.events, Relaxed);
        }
        Some(out)
    }

    #[inline]
    fn note_use(&mut self, context: u16, mask: u64) {
        if self.detail.stale_bytes(context) & mask != 0
            && let Some(tenure) = self.detail.tenure(context)
        {
            // SAFETY: only this context's thread touches its tenure.
            unsafe { (*tenure).note_use() };
        }
    }

    fn begin_tenure(&mut self, line: u64, now: PastAccess, mask: u64) -> ConflictRecord {
        let detail = self.detail;
        let locked = self.history();
        let needed = detail.stale_bytes(now.context) & mask;
        let latest = needed & locked.last_write.bytes.mask();
        let other = match if latest != 0 { latest } else { needed } {
            0 => locked.last_write,
            bytes => locked.writes[bytes.trailing_zeros() as usize / WORD_BYTES],
        };
        let transfer = match now.bytes.is_store() {
            true => WRITE_TRANSFER,
            // Since the store nobody else has taken a copy.
            false if detail.is_held_once() => FIRST_READ,
            false => LATER_READ,
        };
        let used = needed != 0;
        if let Some(tenure) = detail.tenure(now.context) {
            // SAFETY: only this context's thread touches its tenure.
            unsafe { *tenure = LineTenure::begun_by(now, other, transfer, used) };
        }
        ConflictRecord {
            count: 1,
            false_first_touch: u32::from(!used),
            ..conflict_record(line, now, other, transfer)
        }
    }

    /// Compares a value with what the line is known to hold, or notes that it is not known any
    /// more.
    #[inline]
    pub(super) fn compare<H: CollectorHost>(
        &mut self,
        now: PastAccess,
        mask: u64,
        value: Option<AccessValue>,
        memory: &mut LineMemory<'_, H>,
        out: &mut AccessOutcome,
    ) {
        let detail = self.detail;
        let seen = match value {
            Some(AccessValue::Seen { bytes, certain })
                if usize::from(now.size()) <= bytes.len() =>
            {
                Some((bytes, certain))
            }
            _ => None,
        };
        let extension = match seen {
            Some(_) => detail.extension_or_make(memory),
            None => detail.extension(),
        };
        let Some(extension) = extension else { return };
        // SAFETY: under the lock.
        let values = unsafe { &mut *extension.values.get() };
        match seen {
            Some((bytes, certain)) => values.compare(now, mask, &bytes, certain, out),
            None if now.bytes.is_store() => values.valid &= !mask,
            None => {}
        }
    }

    /// A store by a context that has a copy, alone or not.
    fn apply_store(&mut self, now: PastAccess, mask: u64, silent: bool, is_alone: bool) {
        let detail = self.detail;
        let locked = self.history();
        let changed = if silent { 0 } else { mask };
        locked.changed |= changed;
        if !is_alone || changed & !locked.marked != 0 {
            detail.mark_stale(now.context, changed);
            locked.marked = changed | if is_alone { locked.marked } else { 0 };
        }
        if !is_alone {
            locked.gains = [now; 2];
            detail.clear_holders();
            detail.add_holder(now.context);
        }
        detail.note_stores(STORED);
        locked.last_write = now;
        if !silent {
            locked.writes[now.bytes.words()].fill(now);
        }
    }
}

impl LineHistory {
    /// Takes over the stores to a line that one context had to itself: the granules that it wrote,
    /// and the last store.
    pub(super) fn adopt_stores(&mut self, written: u8, last: PastAccess) {
        self.last_write = last;
        for (word, write) in (0u8..).zip(&mut self.writes) {
            let at = word * WORD_BYTES as u8;
            if written >> (at / 8) & 1 == 0 {
                continue;
            }
            let mask = byte_mask(at, WORD_BYTES as u8);
            let granule = PastAccess {
                bytes: AccessedBytes::new(at / 8 * 8, 8, last.access()),
                ..last
            };
            *write = if last.bytes.mask() & mask != 0 {
                last
            } else {
                granule
            };
            self.changed |= mask;
        }
    }

    fn note_gain(&mut self, now: PastAccess) {
        if self.gains[0].context != now.context {
            self.gains[1] = self.gains[0];
        }
        self.gains[0] = now;
    }
}

impl LineValues {
    fn compare(
        &mut self,
        now: PastAccess,
        mask: u64,
        new: &[u8; 16],
        certain: bool,
        out: &mut AccessOutcome,
    ) {
        const SEEN: usize = size_of::<u128>();
        let start = usize::from(now.offset()).min(LINE_BYTES - SEEN);
        let shift = (usize::from(now.offset()) - start) * 8;
        let touched = (u128::MAX >> (128 - 8 * u32::from(now.size()))) << shift;
        let Some(bytes) = self.bytes[start..].first_chunk_mut::<SEEN>() else {
            return;
        };
        let (old, new) = (
            u128::from_le_bytes(*bytes),
            u128::from_le_bytes(*new) << shift,
        );
        let known = self.valid & mask == mask;
        let same = (old ^ new) & touched == 0;
        if !now.bytes.is_store() {
            out.order_error = known && !same;
        } else {
            out.silent = certain.then_some(known && same);
        }
        if !same {
            *bytes = (old & !touched | new & touched).to_le_bytes();
        }
        if certain {
            self.valid |= mask;
        } else {
            self.valid &= !mask;
        }
    }
}
