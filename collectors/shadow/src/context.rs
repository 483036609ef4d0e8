//! State of one context: caches, tables, buffers. One thread at a time uses it.

use core::sync::atomic::Ordering::Relaxed;

use crate::LINES_PER_PAGE;
use crate::arena::ZeroedArena;
use crate::burst::RepeatFilter;
use crate::detail::{LineDetail, LineWait};
use crate::host::CollectorHost;
use crate::log::LoggedRecord;
use crate::page::{CountPage, PageShadow, private_word};
use crate::pair::PairWatches;
use crate::record_buffer::RecordBuffer;
use crate::table::RecordTable;
use crate::visit::{VISIT_RECORDS, VisitFilter};
use crate::wire::{
    self, BurstRecord, ConflictRecord, CountRecord, LineRecord, VisitRecord, WireRecord,
};

/// Pages that a context finds without a search. Servers' objects lie scattered over ten thousand
/// pages; what is not used takes no cache.
const TLB_ENTRIES: usize = 8192;
/// Burst records that a context gathers before it appends them.
const BURST_RECORDS: usize = 16 * 1024;
/// Line records appended at a time when a context's totals are drained: few enough for the stack of
/// any thread.
const LINE_BATCH: usize = 64;
/// Accesses after which totals by line are appended: they are counted in 32 bits.
const LINES_EACH: u64 = 1 << 31;

/// Addresses of a page's shadow and of this context's counts for the page, on one line of the cache.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub struct PageTlbEntry {
    pub page: u64,
    pub shadow: *const PageShadow,
    pub counts: *mut CountPage,
}

/// A store that the context has announced and not made.
pub(crate) struct AwaitedStore {
    pub detail: &'static LineDetail,
    /// Address of the line.
    pub line: u64,
    pub wait: LineWait,
    /// Its record in the log.
    pub logged: Option<LoggedRecord>,
    /// It is counted by granule and site.
    pub is_counted: bool,
}

/// One context of the recording.
pub struct ShadowContext {
    /// Its number, below [`crate::CONTEXTS_MAX`].
    pub id: u16,
    /// Word of the lines that are private to it.
    pub(crate) private_word: u64,
    /// Accesses seen.
    pub accesses: u64,
    /// Coherence transfers into this context.
    pub transfers: u64,
    /// Burst records dropped for want of room.
    pub bursts_dropped: u64,
    /// Accesses that could not be followed for want of memory.
    pub lost: u64,
    /// Operations that it has finished, modulo 2^32.
    pub operations: u32,
    /// Burst records that may be logged before asking for more.
    pub(crate) burst_quota: u64,
    /// The same for records of visits.
    pub(crate) visit_quota: u64,
    /// `TLB_ENTRIES` of them.
    tlb: *mut PageTlbEntry,
    pub(crate) arena: ZeroedArena,
    pub(crate) counts: RecordTable<CountRecord>,
    pub(crate) conflicts: RecordTable<ConflictRecord>,
    pub(crate) events: RecordTable<LineRecord>,
    pub(crate) bursts: RecordBuffer<BurstRecord>,
    pub(crate) filter: RepeatFilter,
    pub(crate) visits: RecordBuffer<VisitRecord>,
    pub(crate) visited: VisitFilter,
    pub(crate) watches: PairWatches,
    pub(crate) pages: *mut CountPage,
    pub(crate) awaited: Option<AwaitedStore>,
    /// `accesses` when the totals by line were last appended.
    lines_flushed: u64,
    sequence: u32,
}

impl ShadowContext {
    /// `None` if the host has no memory.
    pub fn new<H: CollectorHost>(id: u16, host: &H) -> Option<Self> {
        Some(Self {
            id,
            private_word: private_word(id),
            accesses: 0,
            transfers: 0,
            bursts_dropped: 0,
            lost: 0,
            operations: 0,
            burst_quota: 0,
            visit_quota: 0,
            tlb: empty_tlb(host)?,
            arena: ZeroedArena::new(),
            counts: RecordTable::new(12, 14, host)?,
            conflicts: RecordTable::new(10, 12, host)?,
            events: RecordTable::new(10, 12, host)?,
            bursts: RecordBuffer::new(BURST_RECORDS, host)?,
            filter: RepeatFilter::new(),
            visits: RecordBuffer::new(VISIT_RECORDS, host)?,
            visited: VisitFilter::new(),
            watches: PairWatches::new(),
            pages: core::ptr::null_mut(),
            awaited: None,
            lines_flushed: 0,
            sequence: 0,
        })
    }

    /// Like [`ShadowContext::new`], in memory of the host's: a context is larger than the stacks
    /// that threads of programs may have.
    pub fn allocate<H: CollectorHost>(id: u16, host: &H) -> Option<*mut Self> {
        let at = host.zeroed(size_of::<Self>())?.cast::<Self>();
        // SAFETY: fresh zeroed memory of the right size, not shared yet.
        unsafe { Self::make_at(at, id, host) }?;
        Some(at)
    }

    /// Makes a context at `at`; `None` if the host has no memory.
    ///
    /// # Safety
    /// The memory is zeroed, large enough and aligned, and nobody else has it.
    pub unsafe fn make_at<H: CollectorHost>(at: *mut Self, id: u16, host: &H) -> Option<()> {
        // SAFETY: as promised by the caller. Zero is valid for all fields but those that are
        // written here.
        unsafe {
            (&raw mut (*at).id).write(id);
            (&raw mut (*at).private_word).write(private_word(id));
            (&raw mut (*at).counts).write(RecordTable::new(12, 14, host)?);
            (&raw mut (*at).conflicts).write(RecordTable::new(10, 12, host)?);
            (&raw mut (*at).events).write(RecordTable::new(10, 12, host)?);
            (&raw mut (*at).bursts).write(RecordBuffer::new(BURST_RECORDS, host)?);
            (&raw mut (*at).visits).write(RecordBuffer::new(VISIT_RECORDS, host)?);
            (&raw mut (*at).tlb).write(empty_tlb(host)?);
            (&raw mut (*at).awaited).write(None);
        }
        Some(())
    }

    /// Addresses of the pages that the context accessed.
    pub(crate) fn own_pages(&self) -> impl Iterator<Item = u64> + use<> {
        count_pages(self.pages).map(|counts| counts.page)
    }

    /// Returns true if the effect of the last store is to be
    /// [settled](crate::ShadowMemory::settle_store).
    #[inline]
    pub fn awaits_store(&self) -> bool {
        self.awaited.is_some()
    }

    /// Returns the slot of the page at `page`; another page may be there.
    #[inline]
    pub(crate) fn tlb_slot(&self, page: u64) -> *mut PageTlbEntry {
        // SAFETY: below the number of entries.
        unsafe { self.tlb.add((page >> 12) as usize % TLB_ENTRIES) }
    }

    /// Returns the shadow of the page at `page`, and this context's counts, if it was used lately.
    #[inline]
    pub(crate) fn find_in_tlb(
        &self,
        page: u64,
    ) -> Option<(&'static PageShadow, &'static CountPage)> {
        // SAFETY: entries live as long as the process, and only this context's thread changes them.
        let found = unsafe { &*self.tlb_slot(page) };
        // SAFETY: page shadows and count pages are never freed, and that of a page is not null.
        (found.page == page).then(|| unsafe { (&*found.shadow, &*found.counts) })
    }

    /// Appends what the tables have no room for, and makes room where that is much.
    pub(crate) fn spill<H: CollectorHost>(&mut self, host: &H) {
        let Self {
            counts,
            conflicts,
            events,
            id,
            sequence,
            ..
        } = self;
        let mut out = SegmentSink {
            host,
            id: *id,
            sequence,
        };
        counts.take_spilt(|r| out.append(r));
        conflicts.take_spilt(|r| out.append(r));
        events.take_spilt(|r| out.append(r));
        counts.grow(host);
        conflicts.grow(host);
        events.grow(host);
    }

    /// Appends all that is gathered; totals by line only where one could else overflow before the
    /// next time, which must be at most 2^31 accesses from now.
    pub fn flush<H: CollectorHost>(&mut self, host: &H) {
        let Self {
            counts,
            conflicts,
            events,
            bursts,
            visits,
            watches,
            id,
            sequence,
            ..
        } = self;
        let mut out = SegmentSink {
            host,
            id: *id,
            sequence,
        };
        counts.drain(|r| out.append(r));
        conflicts.drain(|r| out.append(r));
        events.drain(|r| out.append(r));
        out.append(bursts.take_records());
        out.append(visits.take_records());
        out.append(watches.take_records());
        if self.accesses.wrapping_sub(self.lines_flushed) >= LINES_EACH {
            self.flush_lines(host);
        }
    }

    /// Appends the totals by line that have gathered, and starts them from zero.
    pub fn flush_lines<H: CollectorHost>(&mut self, host: &H) {
        let empty = LineRecord {
            line: 0,
            reads: 0,
            writes: 0,
            first_reads: 0,
            later_reads: 0,
            write_transfers: 0,
            upgrades: 0,
            order_errors: 0,
            reserved: 0,
        };
        self.lines_flushed = self.accesses;
        let mut batch = [empty; LINE_BATCH];
        let mut len = 0;
        let mut out = SegmentSink {
            host,
            id: self.id,
            sequence: &mut self.sequence,
        };
        for page in count_pages(self.pages) {
            for line in 0..LINES_PER_PAGE {
                let cell = page.cells[line].swap(0, Relaxed);
                if cell == 0 {
                    continue;
                }
                let (reads, writes) = (cell as u32, (cell >> 32) as u32);
                batch[len] = LineRecord {
                    line: page.page + (line * crate::LINE_BYTES) as u64,
                    reads: reads.into(),
                    writes: writes.into(),
                    ..empty
                };
                len += 1;
                if len == LINE_BATCH {
                    out.append(&batch);
                    len = 0;
                }
            }
        }
        out.append(&batch[..len]);
    }

    /// Appends the burst records gathered.
    pub(crate) fn append_bursts<H: CollectorHost>(&mut self, host: &H) {
        let mut out = SegmentSink {
            host,
            id: self.id,
            sequence: &mut self.sequence,
        };
        out.append(self.bursts.take_records());
    }

    /// Appends the records of visits gathered.
    pub(crate) fn append_visits<H: CollectorHost>(&mut self, host: &H) {
        let mut out = SegmentSink {
            host,
            id: self.id,
            sequence: &mut self.sequence,
        };
        out.append(self.visits.take_records());
    }

    /// Appends the pair transfers gathered.
    pub(crate) fn append_pairs<H: CollectorHost>(&mut self, host: &H) {
        let mut out = SegmentSink {
            host,
            id: self.id,
            sequence: &mut self.sequence,
        };
        out.append(self.watches.take_records());
    }

    /// Appends records of the collector's own (sites, the summary).
    pub fn append<R: WireRecord, H: CollectorHost>(&mut self, records: &[R], host: &H) {
        SegmentSink {
            host,
            id: self.id,
            sequence: &mut self.sequence,
        }
        .append(records);
    }
}

/// The count pages of a context, of which `last` was made last.
fn count_pages(last: *mut CountPage) -> impl Iterator<Item = &'static CountPage> {
    // SAFETY: null, or linked by this context only and never freed.
    let page = |at: *mut CountPage| unsafe { at.as_ref() };
    core::iter::successors(page(last), move |counts| page(counts.next))
}

/// Memory for the noted pages, none noted yet.
fn empty_tlb<H: CollectorHost>(host: &H) -> Option<*mut PageTlbEntry> {
    let tlb = host.zeroed(TLB_ENTRIES * size_of::<PageTlbEntry>())?;
    // SAFETY: fresh zeroed memory of that many entries, for which zero is valid.
    for entry in unsafe { core::slice::from_raw_parts_mut(tlb.cast::<PageTlbEntry>(), TLB_ENTRIES) }
    {
        entry.page = u64::MAX;
    }
    Some(tlb.cast())
}

struct SegmentSink<'a, H: CollectorHost> {
    host: &'a H,
    id: u16,
    sequence: &'a mut u32,
}

impl<H: CollectorHost> SegmentSink<'_, H> {
    fn append<R: WireRecord>(&mut self, records: &[R]) {
        if records.is_empty() {
            return;
        }
        let header = wire::SegmentHeader::for_records(self.id, *self.sequence, records);
        *self.sequence += 1;
        self.host.append(self.id, &header, wire::as_bytes(records));
    }
}
