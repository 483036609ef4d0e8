//! Effects of an access on a line, under the line's lock.

use core::sync::atomic::Ordering::*;

use super::parts::{LineExtension, LineTenure, LineValues, conflict_record};
use super::{
    AccessOutcome, FIRST_READ, LATER_READ, LineDetail, LineHistory, STORED, UPGRADE, WRITE_TRANSFER,
};
use crate::LINE_BYTES;
use crate::arena::LineMemory;
use crate::host::{AccessValue, CollectorHost};
use crate::past::{AccessedBytes, PastAccess, WORD_BYTES, byte_mask};
use crate::wire::ConflictRecord;

/// Result of a comparison of an access's value with the line's.
#[derive(Clone, Copy, Default)]
pub struct ValueEffect {
    /// The store left every byte as it was; `None` where that is not known.
    pub silent: Option<bool>,
    /// The load returned another value than the last store left.
    pub order_error: bool,
}

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
                value => {
                    let effect = self.compare(now, value, memory);
                    (out.silent, out.order_error) = (effect.silent, effect.order_error);
                }
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
            self.apply_store(now, is_unchanged, is_alone);
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

    /// Compares a value with what the line is known to hold, for which it makes room if there is
    /// none, and notes it.
    fn compare<H: CollectorHost>(
        &mut self,
        now: PastAccess,
        value: Option<AccessValue>,
        memory: &mut LineMemory<'_, H>,
    ) -> ValueEffect {
        let detail = self.detail;
        let extension = match value {
            Some(_) => detail.extension_or_make(memory),
            None => detail.extension(),
        };
        match extension {
            Some(extension) => self.note_value(now, value, extension),
            None => ValueEffect::default(),
        }
    }

    /// Compares a value with what the line's extension knows, and notes it, or that it is not known
    /// any more.
    #[inline]
    pub(super) fn note_value(
        &mut self,
        now: PastAccess,
        value: Option<AccessValue>,
        extension: &LineExtension,
    ) -> ValueEffect {
        // SAFETY: under the lock.
        let values = unsafe { &mut *extension.values.get() };
        match value {
            Some(AccessValue::Seen { bytes, certain })
                if usize::from(now.size()) <= bytes.len() =>
            {
                return values.compare(now, &bytes, certain);
            }
            _ if now.bytes.is_store() => values.valid &= !now.bytes.mask(),
            _ => {}
        }
        ValueEffect::default()
    }

    /// A store by a context that has a copy, alone or not.
    #[inline]
    pub(super) fn apply_store(&mut self, now: PastAccess, silent: bool, is_alone: bool) {
        let detail = self.detail;
        let locked = self.history();
        let changed = if silent { 0 } else { now.bytes.mask() };
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
    /// Compares bytes of an access with those that are known, and puts them in their place.
    #[inline]
    fn compare(&mut self, now: PastAccess, new: &[u8; 16], certain: bool) -> ValueEffect {
        let mask = now.bytes.mask();
        let known = self.valid & mask == mask;
        let same = if now.size() <= 8 {
            self.replace_word(now, new)
        } else {
            self.replace_bytes(now, new)
        };
        if certain {
            self.valid |= mask;
        } else {
            self.valid &= !mask;
        }
        match now.bytes.is_store() {
            true => ValueEffect {
                silent: certain.then_some(known && same),
                order_error: false,
            },
            false => ValueEffect {
                silent: None,
                order_error: known && !same,
            },
        }
    }

    /// Puts the first bytes of `new` in the place of an access of at most 8 bytes. Returns whether
    /// they were there.
    #[inline]
    fn replace_word(&mut self, now: PastAccess, new: &[u8; 16]) -> bool {
        const WORD: usize = size_of::<u64>();
        let start = usize::from(now.offset()).min(LINE_BYTES - WORD);
        let shift = (usize::from(now.offset()) - start) * 8;
        let touched = (u64::MAX >> (64 - 8 * u32::from(now.size()))) << shift;
        let (Some(bytes), Some(new)) = (
            self.bytes[start..].first_chunk_mut::<WORD>(),
            new.first_chunk::<WORD>(),
        ) else {
            return false;
        };
        let old = u64::from_le_bytes(*bytes);
        let changed = (old ^ u64::from_le_bytes(*new) << shift) & touched;
        *bytes = (old ^ changed).to_le_bytes();
        changed == 0
    }

    /// As [`LineValues::replace_word`], for an access of at most 16 bytes.
    fn replace_bytes(&mut self, now: PastAccess, new: &[u8; 16]) -> bool {
        let at = usize::from(now.offset());
        let bytes = &mut self.bytes[at..at + usize::from(now.size())];
        let new = &new[..bytes.len()];
        let same = *bytes == *new;
        bytes.copy_from_slice(new);
        same
    }
}
