//! The full coherence state of one line that is written and shared.
//!
//! MESI with infinite caches: a context holds the line until another stores to it. For each context
//! that lost the line, `stale` collects the bytes that others have changed since; an access that
//! needs none of them is false sharing by first touch, a whole tenure that needs none is false by
//! lifetime (Dubois). A silent store takes the line away but changes no byte.

use core::sync::atomic::{AtomicU32, Ordering::*};

use crate::page::{Past, granules};
use crate::shadow::{Host, Value};
use crate::wire::ConflictRecord;
use crate::LINE_BYTES;

/// Read transfer, write transfer, upgrade: numbers as in [`ConflictRecord::transfer`].
pub const READ_TRANSFER: u8 = 0;
pub const WRITE_TRANSFER: u8 = 1;
pub const UPGRADE: u8 = 2;

/// One context's part of the state.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Tenure {
    /// The event that brought the line here, whose lifetime class is not settled yet.
    event: Past,
    other: Past,
    transfer: u8,
    /// There is such an event.
    pending: bool,
    /// The context has since used a byte that another had changed.
    used: bool,
}

/// See the module's documentation. All-zero is valid (nobody holds it, nobody wrote it).
#[repr(C, align(64))]
pub struct Detail {
    lock: AtomicU32,
    /// Coherence events so far.
    pub events: u32,
    /// Contexts with a valid copy.
    pub holders: u64,
    /// Contexts without one since another's store.
    pub lost: u64,
    last_write: Past,
    /// The two latest accesses, of different contexts, that brought a copy.
    gains: [Past; 2],
    writes: [Past; LINE_BYTES / 8],
    /// Bytes of `values` that are known.
    valid: u64,
    values: [u8; LINE_BYTES],
    contexts: u32,
    // Followed by `contexts` u64 `stale` masks and `contexts` tenures.
}

/// What one access did.
pub struct Outcome {
    /// Transfer or upgrade with both sides, to be counted.
    pub event: Option<ConflictRecord>,
    /// An earlier event of this context whose lifetime turned out false.
    pub settled: Option<ConflictRecord>,
    /// The store left every byte as it was (`None`: not known).
    pub silent: Option<bool>,
    /// A load returned another value than the last store left.
    pub order_error: bool,
}

/// Byte mask of `size` bytes at `offset` of a line.
#[inline]
pub fn bytes(offset: u8, size: u8) -> u64 {
    (u64::MAX >> (64 - u32::from(size))) << offset
}

impl Detail {
    pub const fn bytes_for(contexts: usize) -> usize {
        size_of::<Self>() + contexts * (size_of::<u64>() + size_of::<Tenure>())
    }

    /// Prepares a zeroed allocation of [`Detail::bytes_for`] bytes.
    pub fn init(&mut self, contexts: usize) {
        self.contexts = contexts as u32;
    }

    /// Takes over a line that `owner` had to itself.
    pub fn adopt_private(&mut self, owner: u8, written: u8, last: Past) {
        self.holders = 1 << owner;
        self.gains[0] = Past { context: owner, ..last };
        self.gains[1] = self.gains[0];
        if written == 0 {
            return;
        }
        self.last_write = last;
        let mut changed = 0;
        for g in 0..8u8 {
            if written >> g & 1 == 1 {
                let within = granules(last.offset, last.size) >> g & 1 == 1;
                let whole = Past { offset: g * 8, size: 8, ..last };
                self.writes[usize::from(g)] = if within { last } else { whole };
                changed |= bytes(g * 8, 8);
            }
        }
        self.lost = self.everyone() & !self.holders;
        for (context, stale) in self.stale().iter_mut().enumerate() {
            if context != usize::from(owner) {
                *stale = changed;
            }
        }
    }

    /// Takes over a line that `contexts` have read and nobody wrote.
    pub fn adopt_shared(&mut self, contexts: u64) {
        self.holders = contexts;
        let first = contexts.trailing_zeros() as u8;
        let last = 63 - contexts.leading_zeros() as u8;
        self.gains = [Past { context: last, ..Past::default() }, Past { context: first, ..Past::default() }];
    }

    pub fn lock<H: Host>(&self, host: &H) {
        let mut spins = 0u32;
        while self.lock.compare_exchange_weak(0, 1, Acquire, Relaxed).is_err() {
            spins += 1;
            if spins % 64 == 0 {
                host.relax();
            } else {
                core::hint::spin_loop();
            }
        }
    }

    pub fn unlock(&self) {
        self.lock.store(0, Release);
    }

    /// One access under the lock. `line` is the line's address; `value` is what was loaded or
    /// stored, if it is known and to be tracked.
    pub fn access(&mut self, line: u64, now: Past, value: Option<Value>) -> Outcome {
        let bit = 1u64 << now.context;
        let mask = bytes(now.offset, now.size);
        let mut out = Outcome { event: None, settled: None, silent: None, order_error: false };
        let had = self.holders & bit != 0;
        let writes = now.access != 0;
        if had {
            self.note_use(now.context, mask);
        } else {
            if self.lost & bit != 0 {
                out.settled = self.settle(now.context, line);
                out.event = Some(self.transfer(line, now, mask));
            }
            self.holders |= bit;
            self.lost &= !bit;
            self.gain(now);
        }
        if let Some(value) = value {
            self.compare_values(now, mask, &value, &mut out);
        } else if writes {
            self.valid &= !mask;
        }
        if writes {
            if had && self.holders != bit {
                out.event = Some(self.upgrade(line, now));
            }
            self.store(now, mask, out.silent == Some(true));
        }
        if out.event.is_some() {
            self.events = self.events.saturating_add(1);
        }
        out
    }

    /// Settles what is still pending for `context`, at the end of the window.
    pub fn settle(&mut self, context: u8, line: u64) -> Option<ConflictRecord> {
        let tenure = &mut self.tenures()[usize::from(context)];
        let false_sharing = tenure.pending && !tenure.used;
        tenure.pending = false;
        let tenure = *tenure;
        false_sharing.then(|| ConflictRecord {
            count: 0,
            false_first_touch: 0,
            false_lifetime: 1,
            ..conflict(line, tenure.event, tenure.other, tenure.transfer)
        })
    }

    fn note_use(&mut self, context: u8, mask: u64) {
        if self.stale()[usize::from(context)] & mask != 0 {
            self.tenures()[usize::from(context)].used = true;
        }
    }

    fn transfer(&mut self, line: u64, now: Past, mask: u64) -> ConflictRecord {
        let needed = self.stale()[usize::from(now.context)] & mask;
        let other = match needed {
            0 => self.last_write,
            _ => self.writes[needed.trailing_zeros() as usize / 8],
        };
        let transfer = if now.access == 0 { READ_TRANSFER } else { WRITE_TRANSFER };
        let used = needed != 0;
        self.tenures()[usize::from(now.context)] =
            Tenure { event: now, other, transfer, pending: true, used };
        ConflictRecord {
            count: 1,
            false_first_touch: u32::from(!used),
            ..conflict(line, now, other, transfer)
        }
    }

    fn upgrade(&mut self, line: u64, now: Past) -> ConflictRecord {
        let other = self.gains[usize::from(self.gains[0].context == now.context)];
        ConflictRecord { count: 1, ..conflict(line, now, other, UPGRADE) }
    }

    fn gain(&mut self, now: Past) {
        if self.gains[0].context != now.context {
            self.gains[1] = self.gains[0];
        }
        self.gains[0] = now;
    }

    fn store(&mut self, now: Past, mask: u64, silent: bool) {
        let bit = 1u64 << now.context;
        let robbed = self.holders & !bit;
        let changed = if silent { 0 } else { mask };
        for (context, stale) in self.stale().iter_mut().enumerate() {
            let kept = if robbed >> context & 1 == 1 { 0 } else { *stale };
            if context != usize::from(now.context) {
                *stale = kept | changed;
            }
        }
        self.holders = bit;
        self.lost = self.everyone() & !bit;
        self.last_write = now;
        if !silent {
            let touched = granules(now.offset, now.size);
            for g in 0..8 {
                if touched >> g & 1 == 1 {
                    self.writes[g] = now;
                }
            }
        }
    }

    fn compare_values(&mut self, now: Past, mask: u64, value: &Value, out: &mut Outcome) {
        let at = usize::from(now.offset);
        let new = &value.bytes[..usize::from(now.size).min(value.bytes.len())];
        let Some(old) = self.values.get_mut(at..at + new.len()) else { return };
        let known = self.valid & mask == mask;
        let same = old == new;
        if now.access == 0 {
            out.order_error = known && !same;
        } else {
            out.silent = value.certain.then_some(known && same);
        }
        old.copy_from_slice(new);
        if value.certain {
            self.valid |= mask;
        } else {
            self.valid &= !mask;
        }
    }

    fn everyone(&self) -> u64 {
        (1u64 << self.contexts) - 1
    }

    fn stale(&mut self) -> &mut [u64] {
        // SAFETY: `bytes_for` leaves room for `contexts` masks behind the struct.
        unsafe {
            let first = (self as *mut Self).add(1).cast::<u64>();
            core::slice::from_raw_parts_mut(first, self.contexts as usize)
        }
    }

    fn tenures(&mut self) -> &mut [Tenure] {
        // SAFETY: `bytes_for` leaves room for `contexts` tenures behind the masks.
        unsafe {
            let masks = (self as *mut Self).add(1).cast::<u64>();
            let first = masks.add(self.contexts as usize).cast::<Tenure>();
            core::slice::from_raw_parts_mut(first, self.contexts as usize)
        }
    }
}

fn conflict(line: u64, now: Past, other: Past, transfer: u8) -> ConflictRecord {
    ConflictRecord {
        addr: line + u64::from(now.offset),
        other_addr: line + u64::from(other.offset),
        site: now.site,
        other_site: other.site,
        size: now.size,
        access: now.access,
        other_size: other.size,
        other_access: other.access,
        other_context: u16::from(other.context),
        transfer,
        reserved: 0,
        count: 0,
        false_first_touch: 0,
        false_lifetime: 0,
        reserved2: 0,
    }
}
