//! The second most common cases: accesses to a line that its context has, and that others have had,
//! too.

use core::sync::atomic::Ordering::Acquire;

use crate::context::ShadowContext;
use crate::detail::LineDetail;
use crate::fast_path::count_increment;
use crate::host::{AccessFacts, AccessKind, CollectorHost};
use crate::page::{CountPage, quiet_detail};
use crate::past::PastAccess;
use crate::shadow::ShadowMemory;
use crate::{LINE_BYTES, PAGE_BYTES};

impl<H: CollectorHost> ShadowMemory<H> {
    /// Does all of an access that moves no line, to one with detail that is neither logged nor
    /// watched: a load of a line that the context has, or a store to one that it alone has. True if
    /// it did. The access ends in the line in which it begins.
    #[inline(always)]
    pub(crate) fn count_detail_hit(
        &self,
        cx: &mut ShadowContext,
        addr: u64,
        now: PastAccess,
        facts: &impl AccessFacts,
    ) -> bool {
        let Some(found) = cx.find_in_tlb(addr & !(PAGE_BYTES as u64 - 1)) else {
            return false;
        };
        // SAFETY: page shadows and count pages are never freed.
        let (shadow, counts) = unsafe { (&*found.shadow, &*found.counts) };
        let Some(detail) = quiet_detail(shadow.words[line_in_page(addr)].load(Acquire)) else {
            return false;
        };
        if now.bytes.is_store() {
            return self.count_own_store(cx, counts, detail, addr, now, facts);
        }
        if !detail.is_plain_hit(now) {
            return false;
        }
        counts.count(line_in_page(addr), count_increment(AccessKind::Read));
        self.count_granule(cx, addr, now, detail.events(), false);
        true
    }

    /// The stores of [`ShadowMemory::count_detail_hit`].
    #[inline(never)]
    fn count_own_store(
        &self,
        cx: &mut ShadowContext,
        counts: &CountPage,
        detail: &LineDetail,
        addr: u64,
        now: PastAccess,
        facts: &impl AccessFacts,
    ) -> bool {
        let events = detail.events();
        let compares = events >= self.config.values_from;
        let value = || compares.then(|| facts.value()).flatten();
        let Some(silent) = detail.try_own_store(now, value) else {
            return false;
        };
        counts.count(line_in_page(addr), count_increment(now.bytes.kind()));
        self.count_granule(cx, addr, now, events, silent);
        true
    }
}

/// Number of the line of `addr` in its page.
#[inline]
fn line_in_page(addr: u64) -> usize {
    (addr as usize % PAGE_BYTES) / LINE_BYTES
}
