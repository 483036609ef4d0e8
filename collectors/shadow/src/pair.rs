//! Pairs of lines: some processors fetch a line's buddy, the other one of the aligned 128 bytes, with
//! it, so that a store to the one disturbs those who use the other.
//!
//! Such a line may have no coherence event of its own, and its accesses are the common case, which has
//! no room for more. So they are sampled. Of each context's accesses one in
//! [`Config::pair_period`](crate::Config::pair_period), at random distances that the collector counts
//! down ([`Context::sample_in`], [`Shadow::passed`]), is looked at: where another
//! context has stored to the pair, what others' stores to it came to is noted (a *watch*), and both
//! lines' words are flagged, so that the context's next access to the pair is not handled as a common
//! case. If by then another has stored to the buddy of the line accessed, and the context still has that
//! line itself, it is a *pair transfer*: with 128 bytes to the line it would have missed, with 64 it
//! does not.
//!
//! Each access to a pair follows on one other of the same context, and that one is looked at with equal
//! chance wherever it is: so a sample stands for as many pair transfers as accesses are passed over.
//! Missed are those of pairs that a context comes back to so seldom that another watch takes the place
//! ([`SLOTS`]), and those after the first store to a pair that others made at all.

use core::sync::atomic::Ordering::*;

use crate::context::ShadowContext;
use crate::fast_path::last_store;
use crate::host::CollectorHost;
use crate::page::{CountPage, LineState, PageShadow, PastAccess, WATCHED};
use crate::shadow::ShadowMemory;
use crate::wire::PairRecord;
use crate::{CONTEXTS_MAX, LINE_BYTES, PAGE_BYTES};

/// Watches that a context can have at once.
const SLOTS: usize = 256;
/// Records gathered before they are appended.
const RECORDS: usize = 1024;
/// Bytes of a pair.
const PAIR_BYTES: usize = 2 * LINE_BYTES;

/// What a pair was when a context had last used it. All-zero is none.
#[repr(C)]
struct PairWatch {
    shadow: *const PageShadow,
    /// The pair's first line, in its page.
    first: usize,
    /// The context's accesses to either line, as in [`crate::page::CountPage::cells`].
    own: [u64; 2],
    /// Others' stores to either line, wrapping.
    stores: [u32; 2],
}

/// The watches of one context, and the pair transfers that they found. All-zero is a fresh one, which
/// takes memory when it first watches.
pub struct PairWatches {
    slots: *mut PairWatch,
    records: *mut PairRecord,
    len: usize,
    random: u32,
    /// Accesses that are passed over before the next one that is looked at.
    left: u32,
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

    /// Whether there is memory to work with.
    fn make_ready<H: CollectorHost>(&mut self, host: &H) -> bool {
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

    /// Draws the distance to the next access that is looked at: from half of `period` to half as much
    /// again.
    fn draw_period(&mut self, period: u32, context: u8) {
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
    fn watch_slot(&mut self, page: u64, first: usize) -> &mut PairWatch {
        let number = page / PAIR_BYTES as u64 + first as u64 / 2;
        // Neighbours get places of their own.
        let at = (number ^ number >> 13) as usize % SLOTS;
        // SAFETY: below the number of places, which were zeroed.
        unsafe { &mut *self.slots.add(at) }
    }

    fn push(&mut self, record: PairRecord) {
        debug_assert!(self.len < RECORDS);
        // SAFETY: whoever fills the last place hands all out.
        unsafe { self.records.add(self.len).write(record) };
        self.len += 1;
    }
}

impl PairWatch {
    fn watches_pair(&self, shadow: &PageShadow, first: usize) -> bool {
        core::ptr::eq(self.shadow, shadow) && self.first == first
    }

    /// Ends it, whatever it is of.
    fn stop(&mut self) {
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

impl ShadowContext {
    /// How many accesses from now the one is that [`Shadow::passed`] is to be told of at the latest.
    pub fn accesses_to_sample(&self) -> u32 {
        self.watches.left.saturating_add(1)
    }
}

impl<H: CollectorHost> ShadowMemory<H> {
    /// Tells that `cx` has made `accesses` more accesses, at most [`Context::sample_in`], the last of
    /// them to `addr`: its pair of lines is looked at if it is time to. A collector that counts down to
    /// something anyway needs no more instructions per access for it. What else it does at such a
    /// moment (yield, say) should come at others, or what is seen is not what mostly is.
    pub fn pass_accesses(&self, cx: &mut ShadowContext, accesses: u32, addr: u64) {
        if accesses <= cx.watches.left {
            cx.watches.left -= accesses;
            return;
        }
        let id = cx.id;
        cx.watches.draw_period(self.config.pair_period, id);
        self.start_watch(cx, addr);
    }

    /// Begins to watch the pair around `addr`, which `cx` has just accessed, if another has stored to
    /// it.
    fn start_watch(&self, cx: &mut ShadowContext, addr: u64) {
        let page = addr & !(PAGE_BYTES as u64 - 1);
        let Some(&found) = cx.find_in_tlb(page) else {
            return;
        };
        // SAFETY: page shadows and count pages are never freed.
        let (shadow, counts) = unsafe { (&*found.shadow, &*found.counts) };
        let first = (addr as usize % PAGE_BYTES) / PAIR_BYTES * 2;
        let words = [first, first + 1].map(|line| &shadow.words[line]);
        let foreign = |word: u64| match LineState::decode(word) {
            LineState::Private { owner, granules } => owner != cx.id && granules != 0,
            LineState::Detailed(_) => true,
            LineState::Untouched | LineState::ReadShared { .. } => false,
        };
        if !words.iter().any(|word| foreign(word.load(Relaxed))) {
            return;
        }
        let lines = [first, first + 1];
        let watch = PairWatch {
            shadow,
            first,
            own: lines.map(|line| counts.cells[line].load(Relaxed)),
            stores: lines.map(|line| self.stores_by_others(shadow, line, cx.id)),
        };
        if watch.stores == [0; 2] || !cx.watches.make_ready(&self.host) {
            return;
        }
        let slot = cx.watches.watch_slot(page, first);
        if !slot.watches_pair(shadow, first) {
            slot.stop();
            shadow.watchers[first / 2].fetch_add(1, Relaxed);
        }
        *slot = watch;
        for word in words {
            word.fetch_or(WATCHED, Relaxed);
        }
    }

    /// Looks at an access to a line whose pair is watched, by this context or another, before it is
    /// counted.
    #[cold]
    #[inline(never)]
    pub(crate) fn finish_watch(
        &self,
        cx: &mut ShadowContext,
        shadow: &PageShadow,
        counts: &CountPage,
        line: usize,
        now: PastAccess,
    ) {
        let first = line & !1;
        if cx.watches.slots.is_null() {
            return;
        }
        let slot = cx.watches.watch_slot(shadow.page, first);
        if !slot.watches_pair(shadow, first) {
            return;
        }
        let (own, stores) = (slot.own, slot.stores);
        slot.stop();
        // Flags that one context sets as another clears them may be lost, and accesses missed.
        let is_next = (own.iter().zip(&counts.cells[first..])).all(|(n, c)| *n == c.load(Relaxed));
        let buddy = line ^ 1;
        let more = self.stores_by_others(shadow, buddy, cx.id);
        let stored = more.wrapping_sub(stores[buddy % 2]).cast_signed() > 0;
        if !is_next || !stored || !is_held(shadow, line, cx.id) {
            return;
        }
        let Some(store) = self
            .last_store_to(shadow, buddy)
            .filter(|s| s.context != cx.id)
        else {
            return;
        };
        shadow.pair_samples[first / 2].fetch_add(1, Relaxed);
        let addr = |line: usize, past: PastAccess| {
            shadow.page + (line * LINE_BYTES) as u64 + u64::from(past.offset)
        };
        cx.watches.push(PairRecord {
            addr: addr(line, now),
            other_addr: addr(buddy, store),
            site: now.site,
            other_site: store.site,
            size: now.size,
            access: now.access,
            other_size: store.size,
            other_access: store.access,
            other_context: store.context.into(),
            reserved: 0,
            samples: 1,
            reserved2: 0,
        });
        if cx.watches.len == RECORDS {
            cx.append_pairs(&self.host);
        }
    }

    fn stores_by_others(&self, shadow: &PageShadow, line: usize, context: u8) -> u32 {
        let contexts = self.config.contexts.min(CONTEXTS_MAX);
        let others = (0..contexts).filter(|&other| other != usize::from(context));
        // SAFETY: count pages are never freed.
        let counts = others.filter_map(|n| unsafe { shadow.counts[n].load(Acquire).as_ref() });
        let stores = counts.map(|counts| (counts.cells[line].load(Relaxed) >> 32) as u32);
        stores.fold(0, u32::wrapping_add)
    }

    /// The last store to a line, where one is known.
    fn last_store_to(&self, shadow: &PageShadow, line: usize) -> Option<PastAccess> {
        let last = match LineState::decode(shadow.words[line].load(Acquire)) {
            LineState::Private { owner, .. } => last_store(shadow, line, owner),
            // SAFETY: details are never freed.
            LineState::Detailed(detail) => unsafe { (*detail).last_write(&self.host) },
            LineState::Untouched | LineState::ReadShared { .. } => return None,
        };
        (last.size > 0).then_some(last)
    }
}

/// Whether `context` has a copy of a line.
fn is_held(shadow: &PageShadow, line: usize, context: u8) -> bool {
    match LineState::decode(shadow.words[line].load(Acquire)) {
        LineState::Untouched => false,
        LineState::Private { owner, .. } => owner == context,
        LineState::ReadShared { contexts } => contexts >> context & 1 == 1,
        // SAFETY: details are never freed.
        LineState::Detailed(detail) => unsafe { (*detail).is_held(context) },
    }
}
