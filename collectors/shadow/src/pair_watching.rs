//! Watches of pairs of lines: begun at sampled accesses, ended at the next access to the pair.

use core::sync::atomic::Ordering::*;

use crate::context::ShadowContext;
use crate::fast_path::last_store;
use crate::host::CollectorHost;
use crate::page::{CountPage, LineState, MASKED_CONTEXTS, PageShadow, WATCHED, page_of};
use crate::pair::{PAIR_BYTES, PairWatch, RECORDS};
use crate::past::PastAccess;
use crate::shadow::ShadowMemory;
use crate::wire::PairRecord;
use crate::{LINE_BYTES, PAGE_BYTES};

impl ShadowContext {
    /// Returns the most accesses that may pass before the next call of
    /// [`ShadowMemory::pass_accesses`].
    pub fn accesses_to_sample(&self) -> u32 {
        self.watches.left.saturating_add(1)
    }
}

impl<H: CollectorHost> ShadowMemory<H> {
    /// Tells that `cx` has made `accesses` more accesses, at most
    /// [`ShadowContext::accesses_to_sample`], the last of them to `addr`: its pair of lines is
    /// looked at if it is time to. A collector that counts down to something anyway needs no more
    /// instructions per access for it. What else it does at such a moment (yield, say) should come
    /// at others, or what is seen is not what mostly is.
    pub fn pass_accesses(&self, cx: &mut ShadowContext, accesses: u32, addr: u64) {
        if accesses <= cx.watches.left {
            cx.watches.left -= accesses;
            return;
        }
        let id = cx.id;
        cx.watches.draw_period(self.config.pair_period, id);
        self.start_watch(cx, addr);
    }

    /// Begins to watch the pair around `addr`, which `cx` has just accessed, if another has stored
    /// to it.
    fn start_watch(&self, cx: &mut ShadowContext, addr: u64) {
        let page = page_of(addr);
        let Some((shadow, counts)) = cx.find_in_tlb(page) else {
            return;
        };
        let first = (addr as usize % PAGE_BYTES) / PAIR_BYTES * 2;
        let words = [first, first + 1].map(|line| &shadow.words[line]);
        let foreign = |word: u64| match LineState::decode(word) {
            LineState::Private { owner, granules } => owner != cx.id && granules != 0,
            LineState::Detailed(_) => true,
            LineState::Untouched | LineState::ReadShared { .. } | LineState::WidelyShared(_) => {
                false
            }
        };
        if !words.iter().any(|word| foreign(word.load(Relaxed))) {
            return;
        }
        let lines = [first, first + 1];
        let watch = PairWatch {
            shadow,
            first,
            own: lines.map(|line| counts.cells[line].load(Relaxed)),
            stores: lines.map(|line| stores_by_others(shadow, line, cx.id)),
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
        let more = stores_by_others(shadow, buddy, cx.id);
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
            shadow.page + (line * LINE_BYTES) as u64 + u64::from(past.offset())
        };
        cx.watches.push(PairRecord {
            addr: addr(line, now),
            other_addr: addr(buddy, store),
            site: now.site,
            other_site: store.site,
            size: now.size(),
            access: now.access(),
            other_size: store.size(),
            other_access: store.access(),
            other_context: store.context,
            reserved: 0,
            samples: 1,
            reserved2: 0,
        });
        if cx.watches.len == RECORDS {
            cx.append_pairs(&self.host);
        }
    }

    /// The last store to a line, where one is known.
    fn last_store_to(&self, shadow: &PageShadow, line: usize) -> Option<PastAccess> {
        let last = match LineState::decode(shadow.words[line].load(Acquire)) {
            LineState::Private { owner, .. } => last_store(shadow, line, owner),
            // SAFETY: details are never freed.
            LineState::Detailed(detail) => unsafe { (*detail).last_write(&self.host) },
            LineState::Untouched | LineState::ReadShared { .. } | LineState::WidelyShared(_) => {
                return None;
            }
        };
        (last.size() > 0).then_some(last)
    }
}

/// Stores of all contexts but `context` to a line, wrapping.
fn stores_by_others(shadow: &PageShadow, line: usize, context: u16) -> u32 {
    shadow
        .counts_of_others(context)
        .map(|counts| (counts.cells[line].load(Relaxed) >> 32) as u32)
        .fold(0, u32::wrapping_add)
}

/// Returns whether `context` has a copy of a line.
fn is_held(shadow: &PageShadow, line: usize, context: u16) -> bool {
    match LineState::decode(shadow.words[line].load(Acquire)) {
        LineState::Untouched => false,
        LineState::Private { owner, .. } => owner == context,
        LineState::ReadShared { contexts } => {
            context < MASKED_CONTEXTS && contexts >> context & 1 == 1
        }
        // SAFETY: sets are never freed.
        LineState::WidelyShared(set) => unsafe { (*set).contains(context) },
        // SAFETY: details are never freed.
        LineState::Detailed(detail) => unsafe { (*detail).is_held(context) },
    }
}
