//! The second most common cases: accesses to a line that its context has, and that others have had,
//! too.

use core::sync::atomic::Ordering::Acquire;

use crate::context::ShadowContext;
use crate::detail::LineDetail;
use crate::fast_path::count_increment;
use crate::host::{AccessFacts, AccessKind, CollectorHost};
use crate::page::{CountPage, line_in_page, page_of, quiet_detail};
use crate::past::PastAccess;
use crate::shadow::ShadowMemory;

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
        let Some((shadow, counts)) = cx.find_in_tlb(page_of(addr)) else {
            return false;
        };
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
