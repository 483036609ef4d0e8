//! The full coherence state of one line that is written and shared.
//!
//! MESI with infinite caches: a context holds the line until another stores to it. For each context
//! that lost the line, `stale` collects the bytes that others have changed since; an access that
//! needs none of them is false sharing by first touch, a whole tenure that needs none is false by
//! lifetime (Dubois). A silent store takes the line away but changes no byte.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

use crate::LINE_BYTES;
use crate::host::{Host, Value};
use crate::page::Past;
use crate::table::prefetch;
use crate::wire::ConflictRecord;

/// Read transfer, write transfer, upgrade: numbers as in [`ConflictRecord::transfer`].
pub const READ_TRANSFER: u8 = 0;
pub const WRITE_TRANSFER: u8 = 1;
pub const UPGRADE: u8 = 2;

/// Two stores to one word cannot be told apart: which of them an access needed is then not known
/// for sure, only that it needed one.
const WORD_BYTES: usize = 4;

/// One context's part of the state that only its own thread touches.
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

/// What is only touched under the lock.
#[repr(C)]
struct Locked {
    /// Contexts without a copy since another's store.
    lost: u64,
    last_write: Past,
    /// Accesses of two contexts that have a copy, where two have: the latest to bring one, and
    /// another, or else the last store.
    gains: [Past; 2],
    /// Bytes that are in the `stale` mask of every context but the only one that holds the line.
    marked: u64,
    /// Bytes of `values` that are known.
    valid: u64,
    /// Contexts whose `stale` masks are kept up to date: those up to the highest that was here. The
    /// others have the same, `changed`.
    known: usize,
    /// What others have changed, to a context that was never here.
    changed: u64,
    /// The last store that changed a byte, by aligned word.
    writes: [Past; LINE_BYTES / WORD_BYTES],
    values: [u8; LINE_BYTES],
}

/// See the module's documentation. All-zero is valid (nobody holds it, nobody wrote it).
///
/// Behind the struct follow, for each context, its `stale` mask and then its [`Tenure`].
#[repr(C, align(64))]
pub struct Detail {
    lock: AtomicU32,
    events: AtomicU32,
    /// Contexts with a valid copy.
    holders: AtomicU64,
    contexts: u32,
    locked: UnsafeCell<Locked>,
}

/// What one access did.
pub struct Outcome {
    /// Transfer or upgrade with both sides, to be counted.
    pub event: Option<ConflictRecord>,
    /// An earlier event of this context whose lifetime turned out false.
    pub settled: Option<ConflictRecord>,
    /// The store left every byte as it was (`None`: not known).
    pub silent: Option<bool>,
    /// A load that missed returned another value than the last store left.
    pub order_error: bool,
    /// Coherence events of the line up to and including this access.
    pub events: u32,
}

/// Byte mask of `size` bytes at `offset` of a line.
#[inline]
pub fn bytes(offset: u8, size: u8) -> u64 {
    (u64::MAX >> (64 - u32::from(size))) << offset
}

/// Byte mask of a remembered access.
fn touched(past: Past) -> u64 {
    if past.size == 0 {
        0
    } else {
        bytes(past.offset, past.size)
    }
}

impl Detail {
    pub const fn bytes_for(contexts: usize) -> usize {
        size_of::<Self>() + contexts * (size_of::<u64>() + size_of::<Tenure>())
    }

    /// Prepares a zeroed allocation of [`Detail::bytes_for`] bytes, not shared yet.
    pub fn init(&mut self, contexts: usize) {
        self.contexts = contexts as u32;
    }

    /// Takes over a line that `owner` had to itself. Not shared yet.
    pub fn adopt_private(&mut self, owner: u8, written: u8, last: Past) {
        let everyone = self.everyone();
        *self.holders.get_mut() = 1 << owner;
        let locked = self.locked.get_mut();
        locked.gains = [Past {
            context: owner,
            ..last
        }; 2];
        if written == 0 {
            return;
        }
        locked.last_write = last;
        locked.lost = everyone & !(1 << owner);
        let mut changed = 0;
        for (word, write) in (0u8..).zip(&mut locked.writes) {
            let at = word * WORD_BYTES as u8;
            if written >> (at / 8) & 1 == 0 {
                continue;
            }
            let mask = bytes(at, WORD_BYTES as u8);
            let granule = Past {
                offset: at / 8 * 8,
                size: 8,
                ..last
            };
            *write = if touched(last) & mask != 0 {
                last
            } else {
                granule
            };
            changed |= mask;
        }
        locked.known = usize::from(owner) + 1;
        locked.changed = changed;
        for stale in &self.stale()[..usize::from(owner)] {
            stale.store(changed, Relaxed);
        }
    }

    /// Takes over a line that `contexts` have read and nobody wrote. Not shared yet.
    pub fn adopt_shared(&mut self, contexts: u64) {
        *self.holders.get_mut() = contexts;
        let first = contexts.trailing_zeros() as u8;
        let last = 63 - contexts.leading_zeros() as u8;
        self.locked.get_mut().gains = [
            Past {
                context: last,
                ..Past::default()
            },
            Past {
                context: first,
                ..Past::default()
            },
        ];
    }

    /// Has fetched what `now` needs of a detail for `contexts` contexts besides its first cache line and
    /// its own `stale` mask, all at once.
    #[inline]
    pub fn prefetch(&self, now: Past, contexts: usize) {
        let locked = self.locked.get();
        let word = usize::from(now.offset) / WORD_BYTES % (LINE_BYTES / WORD_BYTES);
        // SAFETY: only addresses are taken, within the struct.
        unsafe {
            prefetch(&raw const (*locked).known);
            prefetch((&raw const (*locked).writes).cast::<Past>().add(word));
        }
        // Not by `tenure`, which would wait for `self.contexts`.
        let tenures = self.masks().wrapping_add(contexts).cast::<Tenure>();
        prefetch(tenures.wrapping_add(now.context.into()));
    }

    /// Has fetched the `stale` mask of a context: a load may need nothing else.
    #[inline]
    pub fn prefetch_mask(&self, context: u8) {
        prefetch(self.masks().wrapping_add(context.into()));
    }

    /// Where the `stale` masks are.
    #[inline]
    fn masks(&self) -> *const u64 {
        core::ptr::from_ref(self).wrapping_add(1).cast()
    }

    /// Coherence events so far.
    #[inline]
    pub fn events(&self) -> u32 {
        self.events.load(Relaxed)
    }

    /// Whether `now` is a load that changes nothing here: the context has a copy, and has used, or
    /// does not now use, what others changed. Needs no lock; called on the context's thread.
    #[inline]
    pub fn is_plain_hit(&self, now: Past) -> bool {
        now.access == 0 && self.holders.load(Relaxed) >> now.context & 1 == 1 && {
            let mask = bytes(now.offset, now.size);
            // SAFETY: only this context's thread touches its tenure.
            self.stale()[usize::from(now.context)].load(Relaxed) & mask == 0
                || unsafe { (*self.tenure(now.context)).used }
        }
    }

    /// One access, called on its context's thread. `line` is the line's address; `value` gives what
    /// was loaded or stored where that is known; it is asked only if `compare`. `log` is called
    /// under the lock with whether a store was silent.
    pub fn access<H: Host>(
        &self,
        host: &H,
        line: u64,
        now: Past,
        value: impl FnOnce() -> Option<Value>,
        log: impl FnOnce(Option<bool>),
    ) -> Outcome {
        self.lock(host);
        // SAFETY: under the lock.
        let locked = unsafe { &mut *self.locked.get() };
        let outcome = self.locked_access(locked, line, now, value);
        log(outcome.silent);
        self.lock.store(0, Release);
        outcome
    }

    /// Settles what is still pending for `context`. Called on its thread, or once none runs.
    pub fn settle(&self, context: u8, line: u64) -> Option<ConflictRecord> {
        // SAFETY: only this context's thread touches its tenure.
        let tenure = unsafe { &mut *self.tenure(context) };
        let false_sharing = tenure.pending && !tenure.used;
        tenure.pending = false;
        false_sharing.then(|| ConflictRecord {
            false_lifetime: 1,
            ..conflict(line, tenure.event, tenure.other, tenure.transfer)
        })
    }

    /// Whether `context` has a copy.
    pub fn is_held(&self, context: u8) -> bool {
        self.holders.load(Relaxed) >> context & 1 == 1
    }

    /// The last store to the line; its size is 0 where none is known.
    pub fn last_write<H: Host>(&self, host: &H) -> Past {
        self.lock(host);
        // SAFETY: under the lock.
        let last = unsafe { (*self.locked.get()).last_write };
        self.lock.store(0, Release);
        last
    }

    fn lock<H: Host>(&self, host: &H) {
        let mut spins = 0u32;
        while self
            .lock
            .compare_exchange_weak(0, 1, Acquire, Relaxed)
            .is_err()
        {
            spins += 1;
            if spins.is_multiple_of(64) {
                host.relax();
            } else {
                core::hint::spin_loop();
            }
        }
    }

    #[inline]
    fn locked_access(
        &self,
        locked: &mut Locked,
        line: u64,
        now: Past,
        value: impl FnOnce() -> Option<Value>,
    ) -> Outcome {
        let bit = 1u64 << now.context;
        let mask = bytes(now.offset, now.size);
        let mut out = Outcome {
            event: None,
            settled: None,
            silent: None,
            order_error: false,
            events: self.events(),
        };
        self.get_to_know(locked, now.context);
        let holders = self.holders.load(Relaxed);
        let had = holders & bit != 0;
        let writes = now.access != 0;
        if had {
            self.note_use(now.context, mask);
        } else {
            if locked.lost & bit != 0 {
                out.settled = self.settle(now.context, line);
                out.event = Some(self.transfer(locked, line, now, mask));
            }
            self.holders.store(holders | bit, Relaxed);
            locked.lost &= !bit;
            locked.gain(now);
        }
        if writes || !had {
            let value = value().filter(|value| usize::from(now.size) <= value.bytes.len());
            match value {
                Some(value) => locked.compare_values(now, mask, &value, &mut out),
                None => locked.valid &= if writes { !mask } else { u64::MAX },
            }
        }
        if writes {
            if had && holders != bit {
                let other = locked.gains[usize::from(locked.gains[0].context == now.context)];
                out.event = Some(ConflictRecord {
                    count: 1,
                    ..conflict(line, now, other, UPGRADE)
                });
            }
            self.store(locked, now, mask, out.silent == Some(true));
        }
        if out.event.is_some() {
            out.events = out.events.saturating_add(1);
            self.events.store(out.events, Relaxed);
        }
        out
    }

    /// Begins to keep the mask of a context, and of those before it.
    #[inline]
    fn get_to_know(&self, locked: &mut Locked, context: u8) {
        let needed = usize::from(context) + 1;
        if needed > locked.known {
            for stale in &self.stale()[locked.known..needed] {
                stale.store(locked.changed, Relaxed);
            }
            locked.known = needed;
        }
    }

    fn note_use(&self, context: u8, mask: u64) {
        if self.stale()[usize::from(context)].load(Relaxed) & mask != 0 {
            // SAFETY: only this context's thread touches its tenure.
            unsafe { (*self.tenure(context)).used = true };
        }
    }

    fn transfer(&self, locked: &Locked, line: u64, now: Past, mask: u64) -> ConflictRecord {
        let needed = self.stale()[usize::from(now.context)].load(Relaxed) & mask;
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
        let tenure = Tenure {
            event: now,
            other,
            transfer,
            pending: true,
            used,
        };
        // SAFETY: only this context's thread touches its tenure.
        unsafe { *self.tenure(now.context) = tenure };
        ConflictRecord {
            count: 1,
            false_first_touch: u32::from(!used),
            ..conflict(line, now, other, transfer)
        }
    }

    fn store(&self, locked: &mut Locked, now: Past, mask: u64, silent: bool) {
        let bit = 1u64 << now.context;
        let robbed = self.holders.load(Relaxed) & !bit;
        let changed = if silent { 0 } else { mask };
        locked.changed |= changed;
        if robbed != 0 || changed & !locked.marked != 0 {
            self.mark(locked.known, now.context, robbed, changed);
            locked.marked = changed | if robbed == 0 { locked.marked } else { 0 };
        }
        if robbed != 0 {
            locked.gains = [now; 2];
        }
        self.holders.store(bit, Relaxed);
        locked.lost = self.everyone() & !bit;
        locked.last_write = now;
        if !silent {
            let first = usize::from(now.offset) / WORD_BYTES;
            let last = usize::from(now.offset + now.size - 1) / WORD_BYTES;
            locked.writes[first..=last].fill(now);
        }
    }

    /// Notes for all contexts but `writer` that these bytes changed; those that held the line until
    /// now had seen all before.
    fn mark(&self, known: usize, writer: u8, robbed: u64, changed: u64) {
        for (context, stale) in self.stale()[..known].iter().enumerate() {
            if context != usize::from(writer) {
                let kept = if robbed >> context & 1 == 1 {
                    0
                } else {
                    stale.load(Relaxed)
                };
                stale.store(kept | changed, Relaxed);
            }
        }
    }

    fn everyone(&self) -> u64 {
        (1u64 << self.contexts) - 1
    }

    #[inline]
    fn stale(&self) -> &[AtomicU64] {
        // SAFETY: `bytes_for` leaves room for `contexts` masks behind the struct.
        unsafe {
            let first = core::ptr::from_ref(self).add(1).cast::<AtomicU64>();
            core::slice::from_raw_parts(first, self.contexts as usize)
        }
    }

    /// Where the tenure of `context` is.
    #[inline]
    fn tenure(&self, context: u8) -> *mut Tenure {
        debug_assert!(u32::from(context) < self.contexts);
        // SAFETY: `bytes_for` leaves room for `contexts` tenures behind the masks.
        unsafe {
            let masks = core::ptr::from_ref(self).add(1).cast::<AtomicU64>();
            masks
                .add(self.contexts as usize)
                .cast::<Tenure>()
                .add(context.into())
                .cast_mut()
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

    fn compare_values(&mut self, now: Past, mask: u64, value: &Value, out: &mut Outcome) {
        let at = usize::from(now.offset);
        let size = usize::from(now.size);
        let Some(old) = self.values.get_mut(at..at + size) else {
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
