//! The shadow itself: one call per access.

use core::sync::atomic::{AtomicU64, Ordering::*};

use crate::burst::{Region, own_turn, region_record, renew_turn, take_turn};
use crate::context::{Context, Found};
use crate::detail::{Detail, Outcome, READ_TRANSFER, UPGRADE};
use crate::page::{
    CountPage, LOGGED, PageShadow, PageTable, Past, State, granules, is_private, is_read_shared,
};
use crate::wire::{BurstRecord, ConflictRecord, CountRecord, LineRecord, SegmentHeader};
use crate::{CONTEXTS_MAX, LINE_BYTES, PAGE_BYTES, REGION_BYTES, REGIONS_PER_PAGE};

/// What the collector provides.
pub trait Host {
    /// `bytes` of zeroed memory, page-aligned, never given back; `None` if there is none.
    fn zeroed(&self, bytes: usize) -> Option<*mut u8>;
    /// Appends a segment to the file of `context`. Called by the thread that runs it.
    fn append(&self, context: u8, header: &SegmentHeader, payload: &[u8]);
    /// Lets another thread run: a lock is held by a thread that may not be running.
    fn relax(&self);
}

/// What an access does; numbers as in [`CountRecord::access`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Access {
    /// Load.
    Read = 0,
    /// Store.
    Write = 1,
    /// Both, by one instruction.
    ReadWrite = 2,
}

/// The value that an access loaded or stored.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// Bytes in memory order; the first `size` count.
    pub bytes: [u8; 16],
    /// False where the instruction may have left something else in memory (locked instructions, of
    /// which the collector knows an operand only).
    pub certain: bool,
}

/// When detail begins and ends.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Contexts, at most [`CONTEXTS_MAX`].
    pub contexts: usize,
    /// Coherence events of a line from which its accesses are counted by granule and site.
    pub count_from: u32,
    /// Coherence events from which values are compared.
    pub values_from: u32,
    /// Coherence events from which the ordered accesses around the line are logged.
    pub burst_from: u32,
    /// Accesses logged per region, at most.
    pub burst_region_max: u32,
    /// Accesses logged in all, at most.
    pub burst_total_max: u64,
    /// Regions logged on each side of a hot line's own.
    pub burst_reach: u64,
    /// Binary logarithm of the page table's size, which 7/8 of can be used: accesses to more pages
    /// are not followed, and count as lost. Held between 8 and 32.
    pub page_table_bits: u32,
}

impl Config {
    /// The defaults for `contexts` contexts.
    pub fn new(contexts: usize) -> Self {
        Self {
            contexts,
            count_from: 16,
            values_from: 8,
            burst_from: 16,
            burst_region_max: 64 * 1024,
            burst_total_max: 4_000_000,
            burst_reach: 2,
            page_table_bits: 20,
        }
    }
}

/// The shadow of a whole address space. Shared by all contexts.
pub struct Shadow<H: Host> {
    /// The collector.
    pub host: H,
    config: Config,
    pages: PageTable,
    tickets: AtomicU64,
    operations: AtomicU64,
    logged: AtomicU64,
}

impl<H: Host> Shadow<H> {
    /// `None` if the host has no memory or there are too many contexts.
    pub fn new(config: Config, host: H) -> Option<Self> {
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
        })
    }

    /// The workload finished an operation.
    pub fn operation(&self) {
        self.operations.fetch_add(1, Relaxed);
    }

    /// Operations finished so far.
    pub fn operations(&self) -> u64 {
        self.operations.load(Relaxed)
    }

    /// One access by `cx`; each line that it touches counts it. `value` is asked only where values are compared; it returns `None` where
    /// the collector cannot know.
    #[inline]
    pub fn access(
        &self,
        cx: &mut Context,
        addr: u64,
        size: u8,
        access: Access,
        site: u32,
        value: impl FnOnce() -> Option<Value>,
    ) {
        cx.accesses += 1;
        if !common_hit(cx, addr, size, access, site) {
            self.other(cx, addr, size, access, site, value);
        }
    }

    /// What is no [`common_hit`].
    #[inline(never)]
    fn other(
        &self,
        cx: &mut Context,
        addr: u64,
        size: u8,
        access: Access,
        site: u32,
        value: impl FnOnce() -> Option<Value>,
    ) {
        let offset = (addr % LINE_BYTES as u64) as u8;
        if usize::from(offset) + usize::from(size) > LINE_BYTES || size == 0 {
            return self.straddling(cx, addr, size, access, site);
        }
        let Some(found) = self.find(cx, addr & !(PAGE_BYTES as u64 - 1)) else {
            return;
        };
        // SAFETY: page shadows and count pages are never freed.
        let (shadow, counts) = unsafe { (&*found.shadow, &mut *found.counts) };
        let line = (addr as usize % PAGE_BYTES) / LINE_BYTES;
        counts.cells[line] = counts.cells[line].wrapping_add(increment(access));
        let now = Past {
            site,
            offset,
            size,
            context: cx.id,
            access: access as u8,
        };
        if access != Access::Read {
            counts.stores[line].store(now.to_u64(), Relaxed);
        }
        let word = &shadow.words[line];
        let old = word.load(Acquire);
        let hot = old & LOGGED != 0;
        if !hot || (access == Access::Read && is_repeated(cx, shadow, addr, now)) {
            match quick(word, old, now) {
                Quick::Done => return,
                Quick::Hit(events) => return self.count_granule(cx, addr, now, events, false),
                Quick::No => {}
            }
        }
        let region = (addr as usize % PAGE_BYTES) / REGION_BYTES;
        self.slow(cx, shadow, line, now, value, hot.then_some(region));
    }

    /// Ends the window for `cx`: settles and appends all that is pending. To be called for each
    /// context once no other thread is inside [`Shadow::access`].
    pub fn finish(&self, cx: &mut Context) {
        let tickets = self.tickets.load(Relaxed);
        for page in self.pages.iter() {
            for (line, word) in page.words.iter().enumerate() {
                if let State::Detailed(detail) = State::decode(word.load(Acquire)) {
                    let line = page.page + (line * LINE_BYTES) as u64;
                    // SAFETY: details are never freed, and no other thread is inside.
                    if let Some(settled) = unsafe { (*detail).settle(cx.id, line) } {
                        self.add_conflict(cx, &settled);
                    }
                }
            }
            if cx.id == 0 {
                self.finish_regions(cx, page, tickets);
            }
        }
        cx.flush(&self.host);
        cx.flush_lines(&self.host);
    }

    fn finish_regions(&self, cx: &mut Context, page: &PageShadow, tickets: u64) {
        for (n, region) in page.regions.iter().enumerate() {
            // SAFETY: regions are never freed.
            let Some(region) = (unsafe { region.load(Acquire).as_ref() }) else {
                continue;
            };
            if !region.closed.swap(true, AcqRel) {
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
    fn straddling(&self, cx: &mut Context, addr: u64, size: u8, access: Access, site: u32) {
        cx.accesses -= 1;
        let (mut addr, mut left) = (addr, size);
        while left > 0 {
            let part = (LINE_BYTES as u64 - addr % LINE_BYTES as u64).min(left.into()) as u8;
            self.access(cx, addr, part, access, site, || None);
            addr = addr.wrapping_add(part.into());
            left -= part;
        }
    }

    #[inline]
    fn find(&self, cx: &mut Context, page: u64) -> Option<Found> {
        let found = cx.tlb[Context::tlb_slot(page)];
        if found.page == page {
            return Some(found);
        }
        self.find_slow(cx, page)
    }

    #[cold]
    fn find_slow(&self, cx: &mut Context, page: u64) -> Option<Found> {
        let Context {
            arena,
            id,
            pages,
            lost,
            ..
        } = cx;
        let id = usize::from(*id);
        let Some(shadow) = self.pages.get(page, || arena.zeroed(&self.host)) else {
            *lost += 1;
            return None;
        };
        let mut counts = shadow.counts[id].load(Relaxed);
        if counts.is_null() {
            let Some(fresh) = arena.zeroed::<CountPage, H>(&self.host) else {
                *lost += 1;
                return None;
            };
            // SAFETY: fresh zeroed memory, valid as a count page.
            unsafe {
                (*fresh).page = page;
                (*fresh).next = *pages;
            }
            *pages = fresh;
            shadow.counts[id].store(fresh, Release);
            counts = fresh;
        }
        let found = Found {
            page,
            shadow,
            counts,
        };
        cx.tlb[Context::tlb_slot(page)] = found;
        Some(found)
    }

    /// Everything but the common cases.
    #[inline(never)]
    fn slow(
        &self,
        cx: &mut Context,
        shadow: &'static PageShadow,
        line: usize,
        now: Past,
        value: impl FnOnce() -> Option<Value>,
        hot: Option<usize>,
    ) {
        let addr = shadow.page + (line * LINE_BYTES) as u64;
        let Some(detail) = self.detail(cx, shadow, line, now) else {
            return self.log(cx, shadow, addr, now, hot, None);
        };
        let compare = detail.events() >= self.config.values_from;
        let value = || if compare { value() } else { None };
        let outcome = detail.access(&self.host, addr, now, value, |silent| {
            self.log(cx, shadow, addr, now, hot, silent)
        });
        self.record(cx, addr, now, &outcome);
        if outcome.event.is_some() && outcome.events == self.config.burst_from {
            self.heat(cx, addr);
        }
    }

    /// The detail of a line, made now if this access needs it; `None` if the line's word alone
    /// says all (and has been brought up to date).
    fn detail(
        &self,
        cx: &mut Context,
        shadow: &PageShadow,
        line: usize,
        now: Past,
    ) -> Option<&'static Detail> {
        let word = &shadow.words[line];
        loop {
            let old = word.load(Acquire);
            let state = State::decode(old);
            let next = match state {
                // SAFETY: details are never freed.
                State::Detailed(detail) => return Some(unsafe { &*detail }),
                _ => match advance(state, now) {
                    Some(next) => next,
                    None => State::Detailed(self.fresh_detail(cx, shadow, line, state)?),
                },
            };
            let new = next.encode() | old & LOGGED;
            if word.compare_exchange(old, new, AcqRel, Acquire).is_ok() {
                return match next {
                    // SAFETY: details are never freed.
                    State::Detailed(detail) => Some(unsafe { &*detail }),
                    _ => None,
                };
            }
        }
    }

    fn fresh_detail(
        &self,
        cx: &mut Context,
        shadow: &PageShadow,
        line: usize,
        state: State,
    ) -> Option<*mut Detail> {
        let contexts = self.config.contexts;
        let bytes = Detail::bytes_for(contexts);
        let Some(at) = cx
            .arena
            .zeroed_bytes(bytes, align_of::<Detail>(), &self.host)
        else {
            cx.lost += 1;
            return None;
        };
        let detail = at.cast::<Detail>();
        // SAFETY: fresh zeroed memory of the right size, not shared yet.
        let fresh = unsafe { &mut *detail };
        fresh.init(contexts);
        match state {
            State::Private { owner, granules } => {
                fresh.adopt_private(owner, granules, last_store(shadow, line, owner));
            }
            State::ReadShared { contexts } => fresh.adopt_shared(contexts),
            State::Untouched | State::Detailed(_) => {}
        }
        Some(detail)
    }

    fn record(&self, cx: &mut Context, line: u64, now: Past, outcome: &Outcome) {
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
        let addr = line + u64::from(now.offset);
        self.count_granule(cx, addr, now, outcome.events, silent);
    }

    #[inline]
    fn count_granule(&self, cx: &mut Context, addr: u64, now: Past, events: u32, silent: bool) {
        if events < self.config.count_from {
            return;
        }
        cx.counts.add(&CountRecord {
            addr,
            site: now.site,
            size: now.size,
            access: now.access,
            reserved: 0,
            count: 1,
            silent: u32::from(silent),
        });
        if cx.counts.is_full() {
            cx.spill(&self.host);
        }
    }

    fn add_conflict(&self, cx: &mut Context, conflict: &ConflictRecord) {
        cx.conflicts.add(conflict);
        if cx.conflicts.is_full() {
            cx.spill(&self.host);
        }
    }

    fn add_event(&self, cx: &mut Context, line: u64, outcome: &Outcome) {
        let transfer = outcome.event.as_ref().map(|e| e.transfer);
        cx.transfers += u64::from(transfer.is_some_and(|t| t != UPGRADE));
        cx.events.add(&LineRecord {
            line,
            reads: 0,
            writes: 0,
            read_transfers: u32::from(transfer == Some(READ_TRANSFER)),
            write_transfers: u32::from(transfer == Some(crate::detail::WRITE_TRANSFER)),
            upgrades: u32::from(transfer == Some(UPGRADE)),
            order_errors: u32::from(outcome.order_error),
        });
        if cx.events.is_full() {
            cx.spill(&self.host);
        }
    }

    /// Logs an access to a hot region.
    fn log(
        &self,
        cx: &mut Context,
        shadow: &PageShadow,
        line: u64,
        now: Past,
        hot: Option<usize>,
        silent: Option<bool>,
    ) {
        let Some(n) = hot else { return };
        // SAFETY: regions are never freed; a hot bit is set after its region is published.
        let Some(region) = (unsafe { shadow.regions[n].load(Acquire).as_ref() }) else {
            return;
        };
        if region.closed.load(Relaxed) {
            return;
        }
        let turn = take_turn(&shadow.turn, cx.id);
        let was_silent = silent == Some(true);
        if cx.filter.holds(turn, line, now, was_silent) {
            return;
        }
        cx.filter.note(turn, line, now, was_silent);
        let ticket = self.tickets.fetch_add(1, Relaxed);
        let in_region = region.count.fetch_add(1, Relaxed);
        if in_region >= self.config.burst_region_max || !self.may_log(cx) {
            cx.bursts_dropped += 1;
            return self.close(cx, shadow, n, region, ticket);
        }
        if cx.bursts.is_full() {
            cx.flush(&self.host);
        }
        cx.bursts.push(BurstRecord {
            ticket,
            addr: line + u64::from(now.offset),
            site: now.site,
            size: now.size,
            access: now.access,
            silent: silent.map_or(2, u8::from),
            reserved: 0,
        });
    }

    /// Takes one record from the budget of all contexts, in portions.
    fn may_log(&self, cx: &mut Context) -> bool {
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

    fn close(&self, cx: &mut Context, shadow: &PageShadow, n: usize, region: &Region, ticket: u64) {
        if region.closed.swap(true, AcqRel) {
            return;
        }
        for word in region_words(shadow, n) {
            word.fetch_and(!LOGGED, Relaxed);
        }
        let start = shadow.page + (n * REGION_BYTES) as u64;
        cx.append(
            &[region_record(start, region, ticket, self.operations())],
            &self.host,
        );
    }

    /// Begins to log the region of a line that proved hot, and its neighbours.
    #[cold]
    fn heat(&self, cx: &mut Context, line: u64) {
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

    fn heat_region(&self, cx: &mut Context, start: u64) {
        let page = start & !(PAGE_BYTES as u64 - 1);
        let arena = &mut cx.arena;
        let Some(shadow) = self.pages.get(page, || arena.zeroed(&self.host)) else {
            return;
        };
        let n = (start as usize % PAGE_BYTES) / REGION_BYTES;
        debug_assert!(n < REGIONS_PER_PAGE);
        if !shadow.regions[n].load(Acquire).is_null() {
            return;
        }
        let Some(region) = arena.zeroed::<Region, H>(&self.host) else {
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

/// What one access adds to its cell of a [`CountPage`].
#[inline]
fn increment(access: Access) -> u64 {
    match access {
        Access::Read => 1,
        Access::Write => 1 << 32,
        Access::ReadWrite => 1 << 32 | 1,
    }
}

/// The most common cases: a line that is private to the context and stays so, or that all only read,
/// in a page that it used lately. True if that was all.
#[inline]
fn common_hit(cx: &mut Context, addr: u64, size: u8, access: Access, site: u32) -> bool {
    let page = addr & !(PAGE_BYTES as u64 - 1);
    let found = &cx.tlb[Context::tlb_slot(page)];
    let offset = (addr % LINE_BYTES as u64) as u8;
    let end = u64::from(offset) + u64::from(size);
    if found.page != page || end > LINE_BYTES as u64 || size == 0 {
        return false;
    }
    // SAFETY: page shadows and count pages are never freed.
    let (shadow, counts) = unsafe { (&*found.shadow, &mut *found.counts) };
    let line = (addr as usize % PAGE_BYTES) / LINE_BYTES;
    let word = shadow.words[line].load(Relaxed);
    let written = if access == Access::Read {
        0
    } else {
        granules(offset, size)
    };
    let stays = is_private(word, cx.id, written) || written == 0 && is_read_shared(word, cx.id);
    if !stays {
        return false;
    }
    counts.cells[line] = counts.cells[line].wrapping_add(increment(access));
    if written != 0 {
        let now = Past {
            site,
            offset,
            size,
            context: cx.id,
            access: access as u8,
        };
        counts.stores[line].store(now.to_u64(), Relaxed);
    }
    true
}

/// The state words of region `n`.
fn region_words(shadow: &PageShadow, n: usize) -> &[AtomicU64] {
    let lines = REGION_BYTES / LINE_BYTES;
    &shadow.words[n * lines..(n + 1) * lines]
}

/// Whether a load of a hot region need not be logged: it was, in this turn.
#[inline]
fn is_repeated(cx: &Context, shadow: &PageShadow, addr: u64, now: Past) -> bool {
    let line = addr - u64::from(now.offset);
    own_turn(&shadow.turn, cx.id).is_some_and(|turn| cx.filter.holds(turn, line, now, false))
}

/// What the common cases come to.
enum Quick {
    /// All done.
    Done,
    /// A load that changes nothing of a line with this many coherence events: to be counted.
    Hit(u32),
    /// Something else.
    No,
}

/// Handles an access that needs no lock: to a line without detail whose word stays, or changes only
/// in the owner's own part, or a load that changes nothing.
#[inline]
fn quick(word: &AtomicU64, old: u64, now: Past) -> Quick {
    let state = State::decode(old);
    if let State::Detailed(detail) = state {
        // SAFETY: details are never freed.
        let detail = unsafe { &*detail };
        return if detail.is_plain_hit(now) {
            Quick::Hit(detail.events())
        } else {
            Quick::No
        };
    }
    let Some(next) = advance(state, now) else {
        return Quick::No;
    };
    let new = next.encode() | old & LOGGED;
    if new == old || word.compare_exchange(old, new, AcqRel, Relaxed).is_ok() {
        Quick::Done
    } else {
        Quick::No
    }
}

/// The state after `now` of a line without detail; `None` if it needs detail from here on.
fn advance(state: State, now: Past) -> Option<State> {
    let written = if now.access == 0 {
        0
    } else {
        granules(now.offset, now.size)
    };
    match state {
        State::Private { owner, granules } if owner == now.context => Some(State::Private {
            owner,
            granules: granules | written,
        }),
        State::Untouched => Some(State::Private {
            owner: now.context,
            granules: written,
        }),
        State::Private { owner, granules: 0 } if written == 0 => Some(State::ReadShared {
            contexts: 1 << owner | 1 << now.context,
        }),
        State::ReadShared { contexts } if written == 0 => Some(State::ReadShared {
            contexts: contexts | 1 << now.context,
        }),
        _ => None,
    }
}

/// The last store of `owner` to a line that is private to it.
fn last_store(shadow: &PageShadow, line: usize, owner: u8) -> Past {
    // SAFETY: count pages are never freed; a context has one before it touches a line.
    let counts = unsafe { shadow.counts[usize::from(owner)].load(Acquire).as_ref() };
    let last = counts.map_or(0, |counts| counts.stores[line].load(Relaxed));
    Past {
        context: owner,
        ..Past::from_u64(last)
    }
}
