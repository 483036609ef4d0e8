//! The full coherence state of one line that is written and shared.
//!
//! MESI with infinite caches: a context holds the line until another stores to it. For each context
//! that lost the line, `stale` collects the bytes that others have changed since; an access that
//! needs none of them is false sharing by first touch, a whole tenure that needs none is false by
//! lifetime (Dubois). A silent store takes the line away but changes no byte.

mod guard;
mod hit;
mod parts;
mod wait;

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering::*};

use self::parts::{FarContext, FarContexts, LineTenure, NEAR};
use crate::LINE_BYTES;
use crate::arena::LineMemory;
use crate::host::CollectorHost;
use crate::past::{PastAccess, WORD_BYTES};
use crate::table::prefetch;
use crate::wire::ConflictRecord;

pub use self::guard::DetailGuard;
pub use self::parts::LineExtension;
pub use self::wait::LineWait;

/// Kinds of events: numbers as in [`ConflictRecord::transfer`].
pub const FIRST_READ: u8 = 0;
pub const WRITE_TRANSFER: u8 = 1;
pub const UPGRADE: u8 = 2;
pub const LATER_READ: u8 = 3;

/// Bits of [`LineDetail::stores`]: somebody stored to the line.
const STORED: u8 = 1;
/// The effect of a store may be awaited, which the line's extension has.
const AWAITED: u8 = 2;

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
    /// The first 64 contexts, those that have a valid copy.
    holders: AtomicU64,
    events: AtomicU32,
    lock: AtomicU8,
    /// [`STORED`] and [`AWAITED`]; changed under the lock.
    stores: AtomicU8,
    /// Near contexts whose `stale` masks are kept up to date: those up to the highest that was
    /// here. The others have the same, `changed`. Changed under the lock.
    known: AtomicU8,
    /// Some context after the first 64 has a valid copy. Changed under the lock.
    is_held_far: AtomicBool,
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

impl LineDetail {
    /// Takes over a line that `owner` had to itself. Not shared yet. `None` if there is no memory
    /// for it.
    pub fn adopt_private<H: CollectorHost>(
        &mut self,
        owner: u16,
        written: u8,
        last: PastAccess,
        memory: &mut LineMemory<'_, H>,
    ) -> Option<()> {
        let locked = self.history.get_mut();
        locked.gains = [PastAccess {
            context: owner,
            ..last
        }; 2];
        if written != 0 {
            locked.adopt_stores(written, last);
            *self.stores.get_mut() = STORED;
        }
        self.make_room(owner, memory)?;
        self.add_holder(owner);
        if let Some(stale) = self.stale_word(owner) {
            stale.store(0, Relaxed);
        }
        Some(())
    }

    /// Takes over a line that contexts have read and nobody wrote, with their masks, 64 in each.
    /// Not shared yet. `None` if there is no memory for it.
    pub fn adopt_shared<H: CollectorHost>(
        &mut self,
        masks: &[u64],
        memory: &mut LineMemory<'_, H>,
    ) -> Option<()> {
        *self.holders.get_mut() = masks[0];
        let far = (64u16..).step_by(64).zip(&masks[1..]);
        for (first, &mask) in far.filter(|(_, mask)| **mask != 0) {
            self.make_room(first, memory)?;
            self.far()?.holders(first).store(mask, Relaxed);
            *self.is_held_far.get_mut() = true;
        }
        let holders = || {
            let in_masks = (0u16..).step_by(64).zip(masks);
            in_masks.flat_map(|(first, mask)| {
                (0..64)
                    .filter(move |bit| mask >> bit & 1 == 1)
                    .map(move |bit| first + bit)
            })
        };
        let reader = |context: Option<u16>| PastAccess {
            context: context.unwrap_or(0),
            ..PastAccess::default()
        };
        self.history.get_mut().gains = [reader(holders().last()), reader(holders().next())];
        Some(())
    }

    /// Has fetched what `now` needs of a detail besides its first cache line and its own `stale`
    /// mask, all at once.
    #[inline]
    pub fn prefetch(&self, now: PastAccess) {
        let locked = self.history.get();
        let word = usize::from(now.offset()) / WORD_BYTES;
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

    /// Settles what is still pending for `context`. Called on its thread, or once none runs.
    pub fn settle(&self, context: u16, line: u64) -> Option<ConflictRecord> {
        let tenure = self.tenure(context)?;
        // SAFETY: only this context's thread touches its tenure.
        unsafe { (*tenure).settle(line) }
    }

    /// Returns whether `context` has a copy.
    #[inline]
    pub fn is_held(&self, context: u16) -> bool {
        if context < 64 {
            return self.holders.load(Relaxed) >> context & 1 == 1;
        }
        (self.far())
            .is_some_and(|far| far.holders(context).load(Relaxed) >> (context % 64) & 1 == 1)
    }

    /// Returns whether exactly one context has a copy. Under the lock.
    #[inline]
    fn is_held_once(&self) -> bool {
        let near = self.holders.load(Relaxed);
        if !self.is_held_far.load(Relaxed) {
            return near.is_power_of_two();
        }
        let far = self.far().map_or(&[][..], FarContexts::all_holders);
        let ones = far.iter().map(|mask| mask.load(Relaxed).count_ones());
        near.count_ones() + ones.sum::<u32>() == 1
    }

    /// Sets bits of `stores`. Under the lock.
    #[inline]
    fn note_stores(&self, bits: u8) {
        self.stores.store(self.stores.load(Relaxed) | bits, Relaxed);
    }

    /// Notes that `context`, for which there is room, has a copy. Under the lock.
    fn add_holder(&self, context: u16) {
        let (word, bit) = (self.holders_word(context), 1 << (context % 64));
        word.store(word.load(Relaxed) | bit, Relaxed);
        if context >= 64 {
            self.is_held_far.store(true, Relaxed);
        }
    }

    /// Takes the line from all contexts. Under the lock.
    fn clear_holders(&self) {
        self.holders.store(0, Relaxed);
        if self.is_held_far.load(Relaxed) {
            self.is_held_far.store(false, Relaxed);
            let far = self.far().map_or(&[][..], FarContexts::all_holders);
            far.iter().for_each(|mask| mask.store(0, Relaxed));
        }
    }

    /// The word with the holder bit of a context for which there is room.
    fn holders_word(&self, context: u16) -> &AtomicU64 {
        match self.far() {
            Some(far) if context >= 64 => far.holders(context),
            _ => &self.holders,
        }
    }

    /// The last store to the line; its size is 0 where none is known.
    pub fn last_write<H: CollectorHost>(&self, host: &H) -> PastAccess {
        self.lock(host).history().last_write
    }

    /// Waits until nobody else has the line's lock, and takes it.
    pub fn lock<H: CollectorHost>(&self, host: &H) -> DetailGuard<'_> {
        let mut spins = 0u32;
        loop {
            if let Some(held) = self.try_lock() {
                return held;
            }
            spins += 1;
            if spins.is_multiple_of(64) {
                host.relax();
            } else {
                core::hint::spin_loop();
            }
        }
    }

    /// Takes the line's lock if nobody has it.
    #[inline]
    fn try_lock(&self) -> Option<DetailGuard<'_>> {
        let taken = self.lock.compare_exchange(0, 1, Acquire, Relaxed);
        taken.is_ok().then(|| DetailGuard { detail: self })
    }

    /// Makes room for `context` and begins to keep its mask, if it has none; `None` if there is no
    /// memory. Under the lock.
    #[inline]
    fn make_room<H: CollectorHost>(
        &self,
        context: u16,
        memory: &mut LineMemory<'_, H>,
    ) -> Option<()> {
        // SAFETY: under the lock.
        let changed = || unsafe { (*self.history.get()).changed };
        if usize::from(context) < NEAR {
            let known = self.known.load(Relaxed);
            if context >= known.into() {
                let fresh = &self.stale[usize::from(known)..=usize::from(context)];
                fresh
                    .iter()
                    .for_each(|stale| stale.store(changed(), Relaxed));
                self.known.store(context as u8 + 1, Relaxed);
            }
            return Some(());
        }
        if self.far().is_some_and(|far| far.context(context).is_some()) {
            return Some(());
        }
        let far = self.extension_or_make(memory)?.far_or_make(memory)?;
        far.make_room(context, changed(), memory)
    }

    #[inline]
    fn extension(&self) -> Option<&LineExtension> {
        // SAFETY: null, or never freed.
        unsafe { self.extension.load(Acquire).as_ref() }
    }

    /// The extension, made now if there was none. Under the lock.
    fn extension_or_make<H: CollectorHost>(
        &self,
        memory: &mut LineMemory<'_, H>,
    ) -> Option<&LineExtension> {
        if self.extension().is_none() {
            self.extension.store(memory.zeroed()?, Release);
        }
        self.extension()
    }

    /// The contexts that are not near, if any was here.
    #[inline]
    fn far(&self) -> Option<&FarContexts> {
        self.extension()?.far()
    }

    /// The part of a context that is not near, if there is room for it.
    #[inline]
    fn far_context(&self, context: u16) -> Option<&FarContext> {
        self.far()?.context(context)
    }

    /// The `stale` mask of a context, if there is room for it.
    #[inline]
    fn stale_word(&self, context: u16) -> Option<&AtomicU64> {
        match self.stale.get(usize::from(context)) {
            Some(stale) => Some(stale),
            None => Some(&self.far_context(context)?.stale),
        }
    }

    /// Bytes that others have changed since `context` lost the line.
    #[inline]
    fn stale_bytes(&self, context: u16) -> u64 {
        self.stale_word(context)
            .map_or(0, |stale| stale.load(Relaxed))
    }

    /// Returns the address of the tenure of `context`, if it can have one.
    #[inline]
    fn tenure(&self, context: u16) -> Option<*mut LineTenure> {
        match self.tenures.get(usize::from(context)) {
            Some(tenure) => Some(tenure.get()),
            None => Some(self.far_context(context)?.tenure.get()),
        }
    }

    /// Notes for all contexts but `writer` that these bytes changed; those that held the line until
    /// now had seen all before. Under the lock, before the holders change.
    fn mark_stale(&self, writer: u16, changed: u64) {
        let note = |context: u16, holders: u64, stale: &AtomicU64| {
            if context != writer {
                let held = holders >> (context % 64) & 1 == 1;
                let kept = if held { 0 } else { stale.load(Relaxed) };
                stale.store(kept | changed, Relaxed);
            }
        };
        let holders = self.holders.load(Relaxed);
        let known = usize::from(self.known.load(Relaxed));
        for (context, stale) in (0u16..).zip(&self.stale[..known]) {
            note(context, holders, stale);
        }
        let Some(far) = self.far() else { return };
        for (n, block) in far.blocks() {
            let holders = match n.checked_sub(1) {
                None => holders,
                Some(n) => far.all_holders()[n].load(Relaxed),
            };
            (block.contexts()).for_each(|(context, own)| note(context, holders, &own.stale));
        }
    }
}
