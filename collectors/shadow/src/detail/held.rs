//! What an access does to a line, under the line's lock.

use core::sync::atomic::Ordering::*;

use super::parts::{Rest, Tenure, Values, conflict};
use super::{
    Detail, Locked, Outcome, READ_TRANSFER, UPGRADE, WORD_BYTES, WRITE_TRANSFER, bytes, touched,
};
use crate::host::Value;
use crate::page::Past;
use crate::wire::ConflictRecord;

/// A line whose lock is held.
pub struct Held<'a> {
    pub(super) detail: &'a Detail,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.detail.lock.store(0, Release);
    }
}

impl Held<'_> {
    #[inline]
    pub(super) fn locked(&mut self) -> &mut Locked {
        // SAFETY: under the lock.
        unsafe { &mut *self.detail.locked.get() }
    }

    /// One access, called on its context's thread. `line` is the line's address; `value` gives what
    /// was loaded or stored where that is known, and is asked only if it matters; `rest` gives memory.
    /// `None` if there is none of it, and nothing was done.
    #[inline]
    pub fn access(
        &mut self,
        line: u64,
        now: Past,
        value: impl FnOnce() -> Option<Value>,
        mut rest: impl FnMut() -> Option<*mut Rest>,
    ) -> Option<Outcome> {
        let detail = self.detail;
        if !detail.has_room(now.context, &mut rest) {
            return None;
        }
        let bit = 1u64 << now.context;
        let mask = bytes(now.offset, now.size);
        let mut out = Outcome {
            event: None,
            settled: None,
            silent: None,
            order_error: false,
            events: detail.events(),
        };
        self.get_to_know(now.context);
        let holders = detail.holders.load(Relaxed);
        let had = holders & bit != 0;
        let writes = now.access != 0;
        if had {
            self.note_use(now.context, mask);
        } else {
            if detail.stored.load(Relaxed) {
                out.settled = detail.settle(now.context, line);
                out.event = Some(self.transfer(line, now, mask));
            }
            detail.holders.store(holders | bit, Relaxed);
            self.locked().gain(now);
        }
        if writes || !had {
            let value = value().filter(|value| usize::from(now.size) <= value.bytes.len());
            self.compare(now, mask, value, rest, &mut out);
        }
        if writes {
            if had && holders != bit {
                let gains = self.locked().gains;
                let other = gains[usize::from(gains[0].context == now.context)];
                out.event = Some(ConflictRecord {
                    count: 1,
                    ..conflict(line, now, other, UPGRADE)
                });
            }
            self.store(now, mask, out.silent == Some(true));
        }
        if out.event.is_some() {
            out.events = out.events.saturating_add(1);
            detail.events.store(out.events, Relaxed);
        }
        Some(out)
    }

    /// Begins to keep the mask of a context, and of those before it.
    #[inline]
    fn get_to_know(&mut self, context: u8) {
        let detail = self.detail;
        let known = detail.known.load(Relaxed);
        if context >= known {
            let changed = self.locked().changed;
            detail.stale_of(known..context + 1, |_, stale| stale.store(changed, Relaxed));
            detail.known.store(context + 1, Relaxed);
        }
    }

    #[inline]
    fn note_use(&mut self, context: u8, mask: u64) {
        if self.detail.stale(context) & mask != 0
            && let Some(tenure) = self.detail.tenure(context)
        {
            // SAFETY: only this context's thread touches its tenure.
            unsafe { (*tenure).note_use() };
        }
    }

    fn transfer(&mut self, line: u64, now: Past, mask: u64) -> ConflictRecord {
        let detail = self.detail;
        let locked = self.locked();
        let needed = detail.stale(now.context) & mask;
        let latest = needed & touched(locked.last_write);
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
            unsafe { *tenure = Tenure::begun_by(now, other, transfer, used) };
        }
        ConflictRecord {
            count: 1,
            false_first_touch: u32::from(!used),
            ..conflict(line, now, other, transfer)
        }
    }

    /// Compares a value with what the line is known to hold, or notes that it is not known any more.
    #[inline]
    fn compare(
        &mut self,
        now: Past,
        mask: u64,
        value: Option<Value>,
        rest: impl FnOnce() -> Option<*mut Rest>,
        out: &mut Outcome,
    ) {
        let detail = self.detail;
        let rest = match value {
            Some(_) => detail.rest_or(rest),
            None => detail.rest(),
        };
        let Some(rest) = rest else { return };
        // SAFETY: under the lock.
        let values = unsafe { &mut *rest.values.get() };
        match value {
            Some(value) => values.compare(now, mask, &value, out),
            None if now.access != 0 => values.valid &= !mask,
            None => {}
        }
    }

    fn store(&mut self, now: Past, mask: u64, silent: bool) {
        let detail = self.detail;
        let locked = self.locked();
        let bit = 1u64 << now.context;
        let robbed = detail.holders.load(Relaxed) & !bit;
        let changed = if silent { 0 } else { mask };
        locked.changed |= changed;
        if robbed != 0 || changed & !locked.marked != 0 {
            detail.mark(now.context, robbed, changed);
            locked.marked = changed | if robbed == 0 { locked.marked } else { 0 };
        }
        if robbed != 0 {
            locked.gains = [now; 2];
        }
        detail.holders.store(bit, Relaxed);
        detail.stored.store(true, Relaxed);
        locked.last_write = now;
        if !silent {
            let first = usize::from(now.offset) / WORD_BYTES;
            let last = usize::from(now.offset + now.size - 1) / WORD_BYTES;
            locked.writes[first..=last].fill(now);
        }
    }
}

impl Locked {
    fn gain(&mut self, now: Past) {
        if self.gains[0].context != now.context {
            self.gains[1] = self.gains[0];
        }
        self.gains[0] = now;
    }
}

impl Values {
    fn compare(&mut self, now: Past, mask: u64, value: &Value, out: &mut Outcome) {
        let at = usize::from(now.offset);
        let size = usize::from(now.size);
        let Some(old) = self.bytes.get_mut(at..at + size) else {
            return;
        };
        let known = self.valid & mask == mask;
        let same = old.iter().zip(&value.bytes).all(|(old, new)| old == new);
        if now.access == 0 {
            out.order_error = known && !same;
        } else {
            out.silent = value.certain.then_some(known && same);
        }
        if !same {
            old.copy_from_slice(&value.bytes[..size]);
        }
        if value.certain {
            self.valid |= mask;
        } else {
            self.valid &= !mask;
        }
    }
}
