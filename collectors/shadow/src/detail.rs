//! The full coherence state of one line that is written and shared.
//!
//! MESI with infinite caches: a context holds the line until another stores to it. For each context
//! that lost the line, `stale` collects the bytes that others have changed since; an access that
//! needs none of them is false sharing by first touch, a whole tenure that needs none is false by
//! lifetime (Dubois). A silent store takes the line away but changes no byte.

mod guard;
mod parts;
mod wait;

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering::*};

use self::parts::{LineTenure, NEAR};
use crate::LINE_BYTES;
use crate::host::CollectorHost;
use crate::past::PastAccess;
use crate::table::prefetch;
use crate::wire::ConflictRecord;

pub use self::guard::DetailGuard;
pub use self::parts::LineExtension;
pub use self::wait::LineWait;

/// Read transfer, write transfer, upgrade: numbers as in [`ConflictRecord::transfer`].
pub const READ_TRANSFER: u8 = 0;
pub const WRITE_TRANSFER: u8 = 1;
pub const UPGRADE: u8 = 2;

/// Two stores to one word cannot be told apart: which of them an access needed is then not known
/// for sure, only that it needed one.
const WORD_BYTES: usize = 4;

/// State that is only accessed under the lock.
#[repr(C)]
struct LineHistory {
    last_write: PastAccess,
    /// Accesses of two contexts that have a copy, where two have: the latest to bring one, and
    /// another, or else the last store.
    gains: [PastAccess; 2],
    /// Bytes that are in the `stale` mask of every context but the only one that holds the line.
    marked: u64,
    /// Bytes that others have changed, for a context that never had the line.
    changed: u64,
    /// The last store that changed a byte, by aligned word.
    writes: [PastAccess; LINE_BYTES / WORD_BYTES],
}

/// See the module's documentation. All-zero is valid (nobody holds it, nobody wrote it).
///
/// There are as many as lines move, hundreds of thousands in a server: so it is small, and what
/// most accesses need is on few lines of its own.
#[repr(C, align(64))]
pub struct LineDetail {
    /// Contexts with a valid copy.
    holders: AtomicU64,
    events: AtomicU32,
    lock: AtomicU8,
    /// Somebody stored to it; changed under the lock.
    stored: AtomicBool,
    /// Contexts whose `stale` masks are kept up to date: those up to the highest that was here. The
    /// others have the same, `changed`. Changed under the lock.
    known: AtomicU8,
    /// Null until it is needed; set under the lock.
    extension: AtomicPtr<LineExtension>,
    history: UnsafeCell<LineHistory>,
    /// By near context: bytes that others have changed since it lost the line.
    stale: [AtomicU64; NEAR],
    /// By near context; each is touched by its own thread alone.
    tenures: [UnsafeCell<LineTenure>; NEAR],
}

const _: () = assert!(size_of::<LineDetail>() == 6 * 64);

/// Effects of one access.
pub struct AccessOutcome {
    /// Transfer or upgrade with both sides, to be counted.
    pub event: Option<ConflictRecord>,
    /// An earlier event of this context whose lifetime turned out false.
    pub settled: Option<ConflictRecord>,
    /// The store left every byte as it was (`None`: not known).
    pub silent: Option<bool>,
    /// The store is awaited.
    pub awaited: Option<LineWait>,
    /// A load that missed returned another value than the last store left.
    pub order_error: bool,
    /// Coherence events of the line up to and including this access.
    pub events: u32,
}

/// Byte mask of `size` bytes at `offset` of a line.
#[inline]
pub fn byte_mask(offset: u8, size: u8) -> u64 {
    (u64::MAX >> (64 - u32::from(size))) << offset
}

/// Byte mask of a remembered access.
fn touched_bytes(past: PastAccess) -> u64 {
    if past.size == 0 {
        0
    } else {
        byte_mask(past.offset, past.size)
    }
}

/// Words of the line that a remembered access, of at least a byte, touches.
fn touched_words(past: PastAccess) -> core::ops::RangeInclusive<usize> {
    let first = usize::from(past.offset) / WORD_BYTES;
    let last = usize::from(past.offset + past.size - 1) / WORD_BYTES;
    first..=last
}

impl LineDetail {
    /// Takes over a line that `owner` had to itself. Not shared yet. False if there is no memory
    /// for it.
    pub fn adopt_private(
        &mut self,
        owner: u8,
        written: u8,
        last: PastAccess,
        rest: impl FnOnce() -> Option<*mut LineExtension>,
    ) -> bool {
        *self.holders.get_mut() = 1 << owner;
        let locked = self.history.get_mut();
        locked.gains = [PastAccess {
            context: owner,
            ..last
        }; 2];
        if written == 0 {
            return true;
        }
        locked.last_write = last;
        let mut changed = 0;
        for (word, write) in (0u8..).zip(&mut locked.writes) {
            let at = word * WORD_BYTES as u8;
            if written >> (at / 8) & 1 == 0 {
                continue;
            }
            let mask = byte_mask(at, WORD_BYTES as u8);
            let granule = PastAccess {
                offset: at / 8 * 8,
                size: 8,
                ..last
            };
            *write = if touched_bytes(last) & mask != 0 {
                last
            } else {
                granule
            };
            changed |= mask;
        }
        locked.changed = changed;
        *self.stored.get_mut() = true;
        if !self.has_room(owner, rest) {
            return false;
        }
        *self.known.get_mut() = owner + 1;
        self.for_each_stale(0..owner, |_, stale| stale.store(changed, Relaxed));
        true
    }

    /// Takes over a line that `contexts` have read and nobody wrote. Not shared yet.
    pub fn adopt_shared(&mut self, contexts: u64) {
        *self.holders.get_mut() = contexts;
        let first = contexts.trailing_zeros() as u8;
        let last = 63 - contexts.leading_zeros() as u8;
        self.history.get_mut().gains = [
            PastAccess {
                context: last,
                ..PastAccess::default()
            },
            PastAccess {
                context: first,
                ..PastAccess::default()
            },
        ];
    }

    /// Has fetched what `now` needs of a detail besides its first cache line and its own `stale`
    /// mask, all at once.
    #[inline]
    pub fn prefetch(&self, now: PastAccess) {
        let locked = self.history.get();
        let word = usize::from(now.offset) / WORD_BYTES % (LINE_BYTES / WORD_BYTES);
        // SAFETY: only an address is taken, within the struct.
        prefetch(unsafe { (&raw const (*locked).writes).cast::<PastAccess>().add(word) });
        prefetch(
            self.tenures
                .as_ptr()
                .wrapping_add(usize::from(now.context) % NEAR),
        );
    }

    /// Has fetched the `stale` mask of a context: a load may need nothing else.
    #[inline]
    pub fn prefetch_mask(&self) {
        prefetch(&self.stale);
    }

    /// Coherence events so far.
    #[inline]
    pub fn events(&self) -> u32 {
        self.events.load(Relaxed)
    }

    /// Returns whether `now` is a load that changes nothing here: the context has a copy, and has
    /// used, or does not now use, what others changed. Needs no lock; called on the context's
    /// thread.
    #[inline]
    pub fn is_plain_hit(&self, now: PastAccess) -> bool {
        now.access == 0 && self.is_held(now.context) && {
            // SAFETY: only this context's thread touches its tenure.
            self.stale_bytes(now.context) & byte_mask(now.offset, now.size) == 0
                || (self.tenure(now.context)).is_some_and(|tenure| unsafe { (*tenure).is_used() })
        }
    }

    /// Settles what is still pending for `context`. Called on its thread, or once none runs.
    pub fn settle(&self, context: u8, line: u64) -> Option<ConflictRecord> {
        let tenure = self.tenure(context)?;
        // SAFETY: only this context's thread touches its tenure.
        unsafe { (*tenure).settle(line) }
    }

    /// Returns whether `context` has a copy.
    #[inline]
    pub fn is_held(&self, context: u8) -> bool {
        self.holders.load(Relaxed) >> context & 1 == 1
    }

    /// The last store to the line; its size is 0 where none is known.
    pub fn last_write<H: CollectorHost>(&self, host: &H) -> PastAccess {
        self.lock(host).history().last_write
    }

    /// Waits until nobody else has the line's lock, and takes it.
    pub fn lock<H: CollectorHost>(&self, host: &H) -> DetailGuard<'_> {
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
        DetailGuard { detail: self }
    }

    /// Returns whether there is room for `context`; `rest` makes it if there was none. Under the
    /// lock.
    #[inline]
    fn has_room(&self, context: u8, rest: impl FnOnce() -> Option<*mut LineExtension>) -> bool {
        usize::from(context) < NEAR || self.extension_or_make(rest).is_some()
    }

    #[inline]
    fn extension(&self) -> Option<&LineExtension> {
        // SAFETY: null, or never freed.
        unsafe { self.extension.load(Acquire).as_ref() }
    }

    /// The rest, made by `make` if there was none. Under the lock.
    fn extension_or_make(
        &self,
        make: impl FnOnce() -> Option<*mut LineExtension>,
    ) -> Option<&LineExtension> {
        if self.extension().is_none() {
            self.extension.store(make()?, Release);
        }
        self.extension()
    }

    /// Bytes that others have changed since `context` lost the line.
    #[inline]
    fn stale_bytes(&self, context: u8) -> u64 {
        let n = usize::from(context);
        match self.stale.get(n) {
            Some(stale) => stale.load(Relaxed),
            // SAFETY: the context is one of the recording's.
            None => (self.extension())
                .map_or(0, |rest| unsafe { rest.far_context(n) }.stale.load(Relaxed)),
        }
    }

    /// Passes the `stale` masks of these contexts; there must be room for them.
    #[inline]
    fn for_each_stale(&self, contexts: core::ops::Range<u8>, mut pass: impl FnMut(u8, &AtomicU64)) {
        let near = contexts.end.min(NEAR as u8);
        for context in contexts.start..near {
            pass(context, &self.stale[usize::from(context)]);
        }
        if contexts.end > near
            && let Some(rest) = self.extension()
        {
            for context in contexts.start.max(near)..contexts.end {
                // SAFETY: the context is one of the recording's.
                pass(context, unsafe { &rest.far_context(context.into()).stale });
            }
        }
    }

    /// Returns the address of the tenure of `context`, if it can have one.
    #[inline]
    fn tenure(&self, context: u8) -> Option<*mut LineTenure> {
        let n = usize::from(context);
        match self.tenures.get(n) {
            Some(tenure) => Some(tenure.get()),
            // SAFETY: the context is one of the recording's.
            None => self
                .extension()
                .map(|rest| unsafe { rest.far_context(n) }.tenure.get()),
        }
    }

    /// Notes for all contexts but `writer` that these bytes changed; those that held the line until
    /// now had seen all before. Under the lock.
    fn mark_stale(&self, writer: u8, robbed: u64, changed: u64) {
        self.for_each_stale(0..self.known.load(Relaxed), |context, stale| {
            if context != writer {
                let kept = if robbed >> context & 1 == 1 {
                    0
                } else {
                    stale.load(Relaxed)
                };
                stale.store(kept | changed, Relaxed);
            }
        });
    }
}
