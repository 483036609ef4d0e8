//! The shadow itself: one call per access.

use core::sync::atomic::{AtomicU64, Ordering::*};

use crate::arena::LineMemory;
use crate::burst::region_record;
use crate::context::{AwaitedStore, PageTlbEntry, ShadowContext};
use crate::context_set::{ContextSet, WORDS};
use crate::detail::{AccessOutcome, FIRST_READ, LATER_READ, LineDetail, UPGRADE, WRITE_TRANSFER};
use crate::fast_path::{
    advance_state, count_common_hit, count_increment, is_repeated, is_within_line, join_readers,
    last_store, try_advance,
};
use crate::host::{AccessFacts, AccessKind, AccessValue, CollectorHost, ShadowConfig, StoreEffect};
use crate::page::{
    CountPage, FLAGS, LOGGED, LineState, PageShadow, PageTable, WATCHED, line_in_page, page_of,
    region_in_page,
};
use crate::past::{AccessedBytes, PastAccess};
use crate::wire::{ConflictRecord, CountRecord, LineRecord};
use crate::{CONTEXTS_MAX, LINE_BYTES, PAGE_BYTES, REGION_BYTES};

/// What is known of a part of an access: not its value.
#[derive(Clone, Copy)]
struct PartFacts {
    clock: Option<u64>,
    instruction: u8,
}

impl AccessFacts for PartFacts {
    fn value(&self) -> Option<AccessValue> {
        None
    }

    fn clock(&self) -> Option<u64> {
        self.clock
    }

    fn instruction(&self) -> u8 {
        self.instruction
    }
}

/// Coherence events so far of a line, and pair transfers that were sampled on its pair.
fn line_events(shadow: &PageShadow, line: usize) -> u64 {
    let samples = shadow.pair_samples[line / 2].load(Relaxed);
    let events = match LineState::decode(shadow.words[line].load(Acquire)) {
        // SAFETY: details are never freed.
        LineState::Detailed(detail) => unsafe { (*detail).events() },
        _ => 0,
    };
    u64::from(samples) + u64::from(events)
}

/// The shadow of a whole address space. Shared by all contexts.
pub struct ShadowMemory<H: CollectorHost> {
    /// The collector.
    pub host: H,
    pub(crate) config: ShadowConfig,
    pub(crate) pages: PageTable,
    pub(crate) tickets: AtomicU64,
    operations: AtomicU64,
    pub(crate) logged: AtomicU64,
    /// Accesses of visits that contexts may have logged.
    pub(crate) visits: AtomicU64,
}

impl<H: CollectorHost> ShadowMemory<H> {
    /// `None` if the host has no memory or there are too many contexts.
    pub fn new(config: ShadowConfig, host: H) -> Option<Self> {
        if config.contexts == 0 || config.contexts > CONTEXTS_MAX {
            return None;
        }
        let pages = PageTable::new(config.page_table_bits.clamp(8, 32), &host)?;
        Some(Self {
            host,
            config,
            pages,
            tickets: AtomicU64::new(0),
            operations: AtomicU64::new(0),
            logged: AtomicU64::new(0),
            visits: AtomicU64::new(0),
        })
    }

    /// The workload finished an operation.
    pub fn note_operation(&self) {
        self.operations.fetch_add(1, Relaxed);
    }

    /// Operations finished so far.
    pub fn operations(&self) -> u64 {
        self.operations.load(Relaxed)
    }

    /// The ticket that the next logged access will take.
    pub fn next_ticket(&self) -> u64 {
        self.tickets.load(Relaxed)
    }

    /// Coherence events so far of the lines that `bytes` bytes from `start` touch, and pair
    /// transfers that were sampled on the pairs of each: more than 0 if anything was recorded of
    /// them.
    pub fn events_in(&self, start: u64, bytes: u64) -> u64 {
        let (first, end) = (
            start & !(LINE_BYTES as u64 - 1),
            start.saturating_add(bytes),
        );
        let mut events = 0;
        self.pages.for_each_in(page_of(first), end, |shadow| {
            let mut line = first.max(shadow.page);
            let until = end.min(shadow.page.saturating_add(PAGE_BYTES as u64));
            while line < until {
                events += line_events(shadow, line_in_page(line));
                line = line.saturating_add(LINE_BYTES as u64);
            }
        });
        events
    }

    /// One access by `cx`; each line that it touches counts it.
    #[inline]
    pub fn access(
        &self,
        cx: &mut ShadowContext,
        addr: u64,
        size: u8,
        access: AccessKind,
        site: u32,
        facts: impl AccessFacts,
    ) {
        cx.accesses = cx.accesses.wrapping_add(1);
        if !Self::try_common_hit(cx, addr, size, access, site) {
            self.access_uncommon(cx, addr, size, access, site, &facts);
        }
    }

    /// The first part of [`ShadowMemory::access`], which does all of it in the most common cases.
    /// True if it did; else [`ShadowMemory::access_uncommon`] has to follow. It counts no access in
    /// [`ShadowContext::accesses`], which a caller may do for many at once. It takes no lock, and a
    /// signal handler on the same thread may come in between: at most a count is lost.
    #[inline(always)]
    pub fn try_common_hit(
        cx: &mut ShadowContext,
        addr: u64,
        size: u8,
        access: AccessKind,
        site: u32,
    ) -> bool {
        count_common_hit(cx, addr, size, access, site)
    }

    /// The second part: all that [`ShadowMemory::try_common_hit`] does not do.
    #[inline(never)]
    pub fn access_uncommon(
        &self,
        cx: &mut ShadowContext,
        addr: u64,
        size: u8,
        access: AccessKind,
        site: u32,
        facts: &impl AccessFacts,
    ) {
        let offset = (addr % LINE_BYTES as u64) as u8;
        let now = PastAccess {
            site,
            context: cx.id,
            bytes: AccessedBytes::new(offset, size, access as u8),
        };
        if !is_within_line(offset, size) {
            let facts = PartFacts {
                clock: facts.clock(),
                instruction: facts.instruction(),
            };
            return self.access_straddling(cx, addr, size, access, site, facts);
        }
        if !self.count_detail_hit(cx, addr, now, facts) {
            self.access_rarely(cx, addr, now, facts);
        }
    }

    /// An access that is no hit, or one to a line that is logged or watched, or that no other
    /// context had.
    #[inline(never)]
    fn access_rarely(
        &self,
        cx: &mut ShadowContext,
        addr: u64,
        now: PastAccess,
        facts: &impl AccessFacts,
    ) {
        let Some((shadow, counts)) = self.find_page(cx, page_of(addr)) else {
            return;
        };
        let line = line_in_page(addr);
        let word = &shadow.words[line];
        let mut old = word.load(Acquire);
        if old & WATCHED != 0 {
            self.finish_watch(cx, shadow, counts, line, now);
            old = word.load(Acquire);
        }
        let hot = old & LOGGED != 0;
        if hot {
            let line = addr - u64::from(now.offset());
            cx.filter.prefetch(line);
            self.log_visit(cx, shadow, line, now, facts);
        }
        let state = LineState::decode(old);
        if let LineState::Detailed(detail) = state {
            // SAFETY: details are never freed.
            unsafe { (*detail).prefetch_mask() };
        } else if now.bytes.is_store() {
            counts.stores[line].store(now.to_u64(), Relaxed);
        }
        counts.count(line, count_increment(now.bytes.kind()));
        if !hot || (!now.bytes.is_store() && is_repeated(cx, shadow, addr, now)) {
            if let LineState::Detailed(detail) = state {
                // SAFETY: details are never freed.
                let detail = unsafe { &*detail };
                if detail.is_plain_hit(now) {
                    return self.count_granule(cx, addr, now, detail.events(), false);
                }
            } else if try_advance(word, old, now) {
                return;
            }
        }
        let region = region_in_page(addr);
        self.access_in_detail(cx, shadow, line, now, facts, hot.then_some(region));
    }

    /// Counts an access by granule and site whatever its line's history, beside the access itself.
    /// For collectors that count all; [`ShadowConfig::count_from`] must then be out of reach.
    pub fn count_call(
        &self,
        cx: &mut ShadowContext,
        addr: u64,
        size: u8,
        access: AccessKind,
        site: u32,
    ) {
        let offset = (addr % LINE_BYTES as u64) as u8;
        let now = PastAccess {
            site,
            context: cx.id,
            bytes: AccessedBytes::new(offset, size, access as u8),
        };
        self.add_count(cx, addr - u64::from(offset), now, 1, 0);
    }

    /// Settles the store of `cx` that is awaited, if there is one, now that it has been made.
    pub fn settle_store(&self, cx: &mut ShadowContext, effect: StoreEffect) {
        let Some(awaited) = cx.awaited.take() else {
            return;
        };
        let AwaitedStore {
            detail, line, wait, ..
        } = awaited;
        let silent = detail.lock(&self.host).settle_wait(&wait, effect);
        let Some(silent) = silent else { return };
        if let Some(logged) = &awaited.logged {
            self.amend_record(cx, logged, line, wait.store, silent);
        }
        if silent && awaited.is_counted {
            self.add_count(cx, line, wait.store, 0, 1);
        }
    }

    /// Ends the window for `cx`: settles and appends all that is pending. To be called for each
    /// context once no other thread is inside [`ShadowMemory::access`].
    pub fn finish(&self, cx: &mut ShadowContext) {
        for page in cx.own_pages().filter_map(|page| self.pages.find(page)) {
            for (line, word) in page.words.iter().enumerate() {
                if let LineState::Detailed(detail) = LineState::decode(word.load(Acquire)) {
                    let line = page.page + (line * LINE_BYTES) as u64;
                    // SAFETY: details are never freed, and no other thread is inside.
                    if let Some(settled) = unsafe { (*detail).settle(cx.id, line) } {
                        self.add_conflict(cx, &settled);
                    }
                }
            }
        }
        if cx.id == 0 {
            let tickets = self.tickets.load(Relaxed);
            for page in self.pages.iter() {
                self.finish_regions(cx, page, tickets);
            }
        }
        cx.flush(&self.host);
        cx.flush_lines(&self.host);
    }

    fn finish_regions(&self, cx: &mut ShadowContext, page: &PageShadow, tickets: u64) {
        for (n, region) in page.regions.iter().enumerate() {
            // SAFETY: regions are never freed.
            let Some(region) = (unsafe { region.load(Acquire).as_ref() }) else {
                continue;
            };
            if !region.closed.swap(true, AcqRel) {
                region.close_visits(tickets);
                let start = page.page + (n * REGION_BYTES) as u64;
                cx.append(
                    &[region_record(start, region, tickets, self.operations())],
                    &self.host,
                );
            }
        }
    }

    /// An access that touches several lines, or none: each line sees its part.
    #[cold]
    fn access_straddling(
        &self,
        cx: &mut ShadowContext,
        addr: u64,
        size: u8,
        access: AccessKind,
        site: u32,
        facts: PartFacts,
    ) {
        // A collector may count the whole access later.
        cx.accesses = cx.accesses.wrapping_sub(1);
        let (mut addr, mut left) = (addr, size);
        while left > 0 {
            let part = (LINE_BYTES as u64 - addr % LINE_BYTES as u64).min(left.into()) as u8;
            self.access(cx, addr, part, access, site, facts);
            addr = addr.wrapping_add(part.into());
            left -= part;
        }
    }

    /// The shadow of the page at `page`, and the counts of `cx` for it.
    #[inline]
    pub(crate) fn find_page(
        &self,
        cx: &mut ShadowContext,
        page: u64,
    ) -> Option<(&'static PageShadow, &'static CountPage)> {
        (cx.find_in_tlb(page)).or_else(|| self.find_page_slow(cx, page))
    }

    #[cold]
    fn find_page_slow(
        &self,
        cx: &mut ShadowContext,
        page: u64,
    ) -> Option<(&'static PageShadow, &'static CountPage)> {
        let ShadowContext {
            arena,
            id,
            pages,
            lost,
            ..
        } = cx;
        let Some(shadow) = self.pages.find_or_insert(page, || arena.zeroed(&self.host)) else {
            *lost += 1;
            return None;
        };
        let counts = match shadow.counts(*id) {
            Some(counts) => core::ptr::from_ref(counts).cast_mut(),
            None => {
                let Some(fresh) = arena.zeroed::<CountPage, H>(&self.host) else {
                    *lost += 1;
                    return None;
                };
                // SAFETY: fresh zeroed memory, valid as a count page.
                unsafe {
                    (*fresh).page = page;
                    (*fresh).next = *pages;
                }
                if !shadow.set_counts(*id, fresh, arena, &self.host) {
                    *lost += 1;
                    return None;
                }
                *pages = fresh;
                fresh
            }
        };
        let found = PageTlbEntry {
            page,
            shadow,
            counts,
        };
        // SAFETY: an entry of this context's own; count pages are never freed.
        unsafe {
            cx.tlb_slot(page).write(found);
            Some((shadow, &*counts))
        }
    }

    /// Everything but the common cases.
    #[inline(never)]
    fn access_in_detail(
        &self,
        cx: &mut ShadowContext,
        shadow: &'static PageShadow,
        line: usize,
        now: PastAccess,
        facts: &impl AccessFacts,
        hot: Option<usize>,
    ) {
        let addr = shadow.page + (line * LINE_BYTES) as u64;
        let detail = match LineState::decode(shadow.words[line].load(Acquire)) {
            // SAFETY: details are never freed.
            LineState::Detailed(detail) => unsafe { &*detail },
            _ => match self.line_detail(cx, shadow, line, now) {
                Some(detail) => detail,
                None => {
                    self.log_access(cx, shadow, addr, now, hot, None);
                    return;
                }
            },
        };
        detail.prefetch(now);
        let compare = detail.events() >= self.config.values_from;
        let value = || compare.then(|| facts.value()).flatten();
        let mut held = detail.lock(&self.host);
        let Some(outcome) = held.access(addr, now, value, &mut self.line_memory(cx)) else {
            cx.lost += 1;
            return;
        };
        let logged = if hot.is_some() {
            self.log_access(cx, shadow, addr, now, hot, outcome.silent)
        } else {
            None
        };
        drop(held);
        self.record_outcome(cx, addr, now, &outcome);
        if let Some(wait) = outcome.awaited {
            cx.awaited = Some(AwaitedStore {
                detail,
                line: addr,
                wait,
                logged,
                is_counted: outcome.events >= self.config.count_from
                    || self.config.count_from == u32::MAX,
            });
        }
        if outcome.event.is_some() && outcome.events == self.config.burst_from {
            self.heat_regions(cx, addr);
        }
    }

    /// The detail of a line, made now if this access needs it; `None` if the line's word alone
    /// says all (and has been brought up to date).
    fn line_detail(
        &self,
        cx: &mut ShadowContext,
        shadow: &PageShadow,
        line: usize,
        now: PastAccess,
    ) -> Option<&'static LineDetail> {
        let word = &shadow.words[line];
        loop {
            let old = word.load(Acquire);
            let state = LineState::decode(old);
            let next = match state {
                // SAFETY: details are never freed.
                LineState::Detailed(detail) => return Some(unsafe { &*detail }),
                LineState::WidelyShared(set) if !now.bytes.is_store() => {
                    if join_readers(word, old, set, now.context) {
                        return None;
                    }
                    continue;
                }
                _ => match advance_state(state, now) {
                    Some(next) => next,
                    None => self.widen_or_detail(cx, shadow, line, state, now)?,
                },
            };
            let new = next.encode() | old & FLAGS;
            if word.compare_exchange(old, new, AcqRel, Acquire).is_ok() {
                return match next {
                    // SAFETY: details are never freed.
                    LineState::Detailed(detail) => Some(unsafe { &*detail }),
                    _ => None,
                };
            }
        }
    }

    /// The state after `now` of a line whose word has no more room: a set of readers, or detail.
    fn widen_or_detail(
        &self,
        cx: &mut ShadowContext,
        shadow: &PageShadow,
        line: usize,
        state: LineState,
        now: PastAccess,
    ) -> Option<LineState> {
        let masks = match state {
            LineState::Private { owner, granules: 0 } => {
                let mut masks = [0; WORDS];
                masks[usize::from(owner) / 64] = 1 << (owner % 64);
                Some(masks)
            }
            LineState::ReadShared { contexts } => {
                let mut masks = [0; WORDS];
                masks[0] = contexts;
                Some(masks)
            }
            // SAFETY: sets are never freed.
            LineState::WidelyShared(set) => Some(unsafe { (*set).masks() }),
            LineState::Private { .. } | LineState::Untouched | LineState::Detailed(_) => None,
        };
        let mut memory = self.line_memory(cx);
        let made = match masks {
            Some(masks) if !now.bytes.is_store() => memory.zeroed().map(|set: *mut ContextSet| {
                // SAFETY: fresh zeroed memory, not shared yet.
                unsafe { (*set).insert_all(&masks, now.context) };
                LineState::WidelyShared(set)
            }),
            _ => memory.zeroed().and_then(|detail: *mut LineDetail| {
                // SAFETY: fresh zeroed memory, valid as a detail, not shared yet.
                let fresh = unsafe { &mut *detail };
                match (state, masks) {
                    (LineState::Private { owner, granules }, _) => {
                        let last = last_store(shadow, line, owner);
                        fresh.adopt_private(owner, granules, last, &mut memory)?;
                    }
                    (_, Some(masks)) => fresh.adopt_shared(&masks, &mut memory)?,
                    (_, None) => {}
                }
                Some(LineState::Detailed(detail))
            }),
        };
        if made.is_none() {
            cx.lost += 1;
        }
        made
    }

    /// Memory for what only few lines need.
    fn line_memory<'a>(&'a self, cx: &'a mut ShadowContext) -> LineMemory<'a, H> {
        LineMemory {
            arena: &mut cx.arena,
            host: &self.host,
            contexts: self.config.contexts,
        }
    }

    #[inline]
    fn record_outcome(
        &self,
        cx: &mut ShadowContext,
        line: u64,
        now: PastAccess,
        outcome: &AccessOutcome,
    ) {
        if let Some(settled) = &outcome.settled {
            self.add_conflict(cx, settled);
        }
        if let Some(event) = &outcome.event {
            self.add_conflict(cx, event);
        }
        if outcome.event.is_some() || outcome.order_error {
            self.add_event(cx, line, outcome);
        }
        let silent = outcome.silent == Some(true);
        let addr = line + u64::from(now.offset());
        self.count_granule(cx, addr, now, outcome.events, silent);
    }

    #[inline]
    pub(crate) fn count_granule(
        &self,
        cx: &mut ShadowContext,
        addr: u64,
        now: PastAccess,
        events: u32,
        silent: bool,
    ) {
        if events >= self.config.count_from {
            let line = addr - u64::from(now.offset());
            self.add_count(cx, line, now, 1, u32::from(silent));
        }
    }

    fn add_count(
        &self,
        cx: &mut ShadowContext,
        line: u64,
        access: PastAccess,
        count: u32,
        silent: u32,
    ) {
        cx.counts.add(&CountRecord {
            addr: line + u64::from(access.offset()),
            site: access.site,
            size: access.size(),
            access: access.access(),
            reserved: 0,
            count,
            silent,
        });
        if cx.counts.is_full() {
            cx.spill(&self.host);
        }
    }

    fn add_conflict(&self, cx: &mut ShadowContext, conflict: &ConflictRecord) {
        cx.conflicts.add(conflict);
        if cx.conflicts.is_full() {
            cx.spill(&self.host);
        }
    }

    fn add_event(&self, cx: &mut ShadowContext, line: u64, outcome: &AccessOutcome) {
        let transfer = outcome.event.as_ref().map(|e| e.transfer);
        cx.transfers += u64::from(transfer.is_some_and(|t| t != UPGRADE));
        cx.events.add(&LineRecord {
            line,
            reads: 0,
            writes: 0,
            first_reads: u32::from(transfer == Some(FIRST_READ)),
            later_reads: u32::from(transfer == Some(LATER_READ)),
            write_transfers: u32::from(transfer == Some(WRITE_TRANSFER)),
            upgrades: u32::from(transfer == Some(UPGRADE)),
            order_errors: u32::from(outcome.order_error),
            reserved: 0,
        });
        if cx.events.is_full() {
            cx.spill(&self.host);
        }
    }
}
