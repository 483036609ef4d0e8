//! Logging the ordered accesses around hot lines: which regions, from when, until when.

use core::sync::atomic::Ordering::*;

use crate::burst::{HotRegion, region_record, renew_turn, take_turn};
use crate::context::ShadowContext;
use crate::fast_path::region_words;
use crate::host::CollectorHost;
use crate::page::{LOGGED, PageShadow, page_of, region_in_page};
use crate::past::PastAccess;
use crate::shadow::ShadowMemory;
use crate::wire::BurstRecord;
use crate::{REGION_BYTES, REGIONS_PER_PAGE};

/// A record that was logged, with the turn and the region that it belongs to.
pub struct LoggedRecord {
    ticket: u64,
    turn: u64,
    region: &'static HotRegion,
}

impl<H: CollectorHost> ShadowMemory<H> {
    /// Logs an access to a hot region. Returns the record if there is a new one.
    pub(crate) fn log_access(
        &self,
        cx: &mut ShadowContext,
        shadow: &PageShadow,
        line: u64,
        now: PastAccess,
        hot: Option<usize>,
        silent: Option<bool>,
    ) -> Option<LoggedRecord> {
        let n = hot?;
        // SAFETY: regions are never freed; a hot bit is set after its region is published.
        let region = unsafe { shadow.regions[n].load(Acquire).as_ref() }?;
        if region.closed.load(Relaxed) {
            return None;
        }
        let turn = take_turn(&shadow.turn, cx.id);
        let was_silent = silent == Some(true);
        if cx.filter.has_logged(turn, line, now, was_silent) {
            return None;
        }
        cx.filter.note_logged(turn, line, now, was_silent);
        let ticket = self.tickets.fetch_add(1, Relaxed);
        let in_region = region.count.fetch_add(1, Relaxed);
        if in_region >= self.config.burst_region_max || !self.reserve_log_room(cx) {
            cx.bursts_dropped += 1;
            self.close_region(cx, shadow, n, region, ticket);
            return None;
        }
        if cx.bursts.is_full() {
            cx.append_bursts(&self.host);
        }
        cx.bursts.push(BurstRecord {
            ticket,
            addr: line + u64::from(now.offset()),
            site: now.site,
            size: now.size(),
            access: now.access(),
            silent: silent.map_or(2, u8::from),
            reserved: 0,
        });
        Some(LoggedRecord {
            ticket,
            turn,
            region,
        })
    }

    /// Amends the record of a store, which is the last that its context logged, once it is known
    /// whether the store was silent. A silent store that repeats another of its turn leaves no
    /// record, and a later store to the same bytes is logged again, since it may change them.
    pub(crate) fn amend_record(
        &self,
        cx: &mut ShadowContext,
        logged: &LoggedRecord,
        line: u64,
        store: PastAccess,
        silent: bool,
    ) {
        let Some(record) = cx.bursts.last_mut().filter(|r| r.ticket == logged.ticket) else {
            // It was appended as unknown.
            return;
        };
        record.silent = silent.into();
        if !silent {
            return;
        }
        let is_repeated = cx.filter.has_logged(logged.turn, line, store, true);
        cx.filter.forget_changing(logged.turn, line, store);
        cx.filter.note_logged(logged.turn, line, store, true);
        if is_repeated {
            cx.bursts.drop_last();
            cx.burst_quota += 1;
            logged.region.count.fetch_sub(1, Relaxed);
        }
    }

    /// Takes one record from the budget of all contexts, in portions.
    fn reserve_log_room(&self, cx: &mut ShadowContext) -> bool {
        const PORTION: u64 = 1024;
        if cx.burst_quota == 0 {
            if self.logged.fetch_add(PORTION, Relaxed) + PORTION > self.config.burst_total_max {
                return false;
            }
            cx.burst_quota = PORTION;
        }
        cx.burst_quota -= 1;
        true
    }

    fn close_region(
        &self,
        cx: &mut ShadowContext,
        shadow: &PageShadow,
        n: usize,
        region: &HotRegion,
        ticket: u64,
    ) {
        if region.closed.swap(true, AcqRel) {
            return;
        }
        for word in region_words(shadow, n) {
            word.fetch_and(!LOGGED, Relaxed);
        }
        region.close_visits(ticket);
        let start = shadow.page + (n * REGION_BYTES) as u64;
        cx.append(
            &[region_record(start, region, ticket, self.operations())],
            &self.host,
        );
    }

    /// Begins to log the region of a line that proved hot, and its neighbours.
    #[cold]
    pub(crate) fn heat_regions(&self, cx: &mut ShadowContext, line: u64) {
        if self.logged.load(Relaxed) >= self.config.burst_total_max {
            return;
        }
        let own = line / REGION_BYTES as u64;
        let last =
            (own.saturating_add(self.config.burst_reach)).min(u64::MAX / REGION_BYTES as u64);
        for n in own.saturating_sub(self.config.burst_reach)..=last {
            self.heat_region(cx, n * REGION_BYTES as u64);
        }
    }

    fn heat_region(&self, cx: &mut ShadowContext, start: u64) {
        let page = page_of(start);
        let arena = &mut cx.arena;
        let Some(shadow) = self.pages.find_or_insert(page, || arena.zeroed(&self.host)) else {
            return;
        };
        let n = region_in_page(start);
        debug_assert!(n < REGIONS_PER_PAGE);
        if !shadow.regions[n].load(Acquire).is_null() {
            return;
        }
        let Some(region) = arena.zeroed::<HotRegion, H>(&self.host) else {
            return;
        };
        // SAFETY: fresh zeroed memory, not shared yet.
        unsafe {
            (*region).first_ticket = self.tickets.load(Relaxed);
            (*region).first_op = self.operations();
        }
        let null = core::ptr::null_mut();
        if shadow.regions[n]
            .compare_exchange(null, region, AcqRel, Acquire)
            .is_ok()
        {
            for word in region_words(shadow, n) {
                word.fetch_or(LOGGED, Release);
            }
            renew_turn(&shadow.turn);
        }
    }
}
