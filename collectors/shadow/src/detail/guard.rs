//! Effects of an access on a line, under the line's lock.

use core::sync::atomic::Ordering::*;

use super::parts::{LineExtension, LineTenure, LineValues, conflict_record};
use super::{
    AccessOutcome, LineDetail, LineHistory, READ_TRANSFER, UPGRADE, WORD_BYTES, WRITE_TRANSFER,
    byte_mask, touched_bytes, touched_words,
};
use crate::host::AccessValue;
use crate::past::PastAccess;
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
    /// was loaded or stored where that is known, and is asked only if it matters; `rest` gives
    /// memory. `None` if there is none of it, and nothing was done.
    #[inline]
    pub fn access(
        &mut self,
        line: u64,
        now: PastAccess,
        value: impl FnOnce() -> Option<AccessValue>,
        mut rest: impl FnMut() -> Option<*mut LineExtension>,
    ) -> Option<AccessOutcome> {
        let detail = self.detail;
        if !detail.has_room(now.context, &mut rest) {
            return None;
        }
        let bit = 1u64 << now.context;
        let mask = byte_mask(now.offset, now.size);
        let mut out = AccessOutcome {
            event: None,
            settled: None,
            silent: None,
            awaited: None,
            order_error: false,
            events: detail.events(),
        };
        let waited = self.end_wait();
        self.admit_context(now.context);
        let holders = detail.holders.load(Relaxed);
        let had = holders & bit != 0;
        let writes = now.access != 0;
        if had {
            self.note_use(now.context, mask);
        } else {
            if detail.stored.load(Relaxed) {
                out.settled = detail.settle(now.context, line);
                out.event = Some(self.begin_tenure(line, now, mask));
            }
            detail.holders.store(holders | bit, Relaxed);
            self.history().note_gain(now);
        }
        if writes || !had {
            match value() {
                Some(AccessValue::Awaited) if writes => {
                    out.awaited = self.begin_wait(now, touched_bytes(waited) & mask != 0, rest);
                }
                value => self.compare(now, mask, value, rest, &mut out),
            }
        }
        if writes {
            if had && holders != bit {
                let gains = self.history().gains;
                let other = gains[usize::from(gains[0].context == now.context)];
                out.event = Some(ConflictRecord {
                    count: 1,
                    ..conflict_record(line, now, other, UPGRADE)
                });
            }
            let is_unchanged = out.silent == Some(true) || out.awaited.is_some();
            self.apply_store(now, mask, is_unchanged);
        }
        if out.event.is_some() {
            out.events = out.events.saturating_add(1);
            detail.events.store(out.events, Relaxed);
        }
        Some(out)
    }

    /// Begins to keep the mask of a context, and of those before it.
    #[inline]
    fn admit_context(&mut self, context: u8) {
        let detail = self.detail;
        let known = detail.known.load(Relaxed);
        if context >= known {
            let changed = self.history().changed;
            detail.for_each_stale(known..context + 1, |_, stale| stale.store(changed, Relaxed));
            detail.known.store(context + 1, Relaxed);
        }
    }

    #[inline]
    fn note_use(&mut self, context: u8, mask: u64) {
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
        let latest = needed & touched_bytes(locked.last_write);
        let other = match if latest != 0 { latest } else { needed } {
            0 => locked.last_write,
            bytes => locked.writes[bytes.trailing_zeros() as usize / WORD_BYTES],
        };
        let transfer = if now.access == 0 {
            READ_TRANSFER
        } else {
            WRITE_TRANSFER
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
    pub(super) fn compare(
        &mut self,
        now: PastAccess,
        mask: u64,
        value: Option<AccessValue>,
        rest: impl FnOnce() -> Option<*mut LineExtension>,
        out: &mut AccessOutcome,
    ) {
        let detail = self.detail;
        let seen = match value {
            Some(AccessValue::Seen { bytes, certain }) if usize::from(now.size) <= bytes.len() => {
                Some((bytes, certain))
            }
            _ => None,
        };
        let rest = match seen {
            Some(_) => detail.extension_or_make(rest),
            None => detail.extension(),
        };
        let Some(rest) = rest else { return };
        // SAFETY: under the lock.
        let values = unsafe { &mut *rest.values.get() };
        match seen {
            Some((bytes, certain)) => values.compare(now, mask, &bytes, certain, out),
            None if now.access != 0 => values.valid &= !mask,
            None => {}
        }
    }

    fn apply_store(&mut self, now: PastAccess, mask: u64, silent: bool) {
        let detail = self.detail;
        let locked = self.history();
        let bit = 1u64 << now.context;
        let robbed = detail.holders.load(Relaxed) & !bit;
        let changed = if silent { 0 } else { mask };
        locked.changed |= changed;
        if robbed != 0 || changed & !locked.marked != 0 {
            detail.mark_stale(now.context, robbed, changed);
            locked.marked = changed | if robbed == 0 { locked.marked } else { 0 };
        }
        if robbed != 0 {
            locked.gains = [now; 2];
        }
        detail.holders.store(bit, Relaxed);
        detail.stored.store(true, Relaxed);
        locked.last_write = now;
        if !silent {
            locked.writes[touched_words(now)].fill(now);
        }
    }
}

impl LineHistory {
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
        let at = usize::from(now.offset);
        let size = usize::from(now.size);
        let Some(old) = self.bytes.get_mut(at..at + size) else {
            return;
        };
        let known = self.valid & mask == mask;
        let same = old.iter().zip(new).all(|(old, new)| old == new);
        if now.access == 0 {
            out.order_error = known && !same;
        } else {
            out.silent = certain.then_some(known && same);
        }
        if !same {
            old.copy_from_slice(&new[..size]);
        }
        if certain {
            self.valid |= mask;
        } else {
            self.valid &= !mask;
        }
    }
}
