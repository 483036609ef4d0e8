//! Records to rows: checks each field, adds up deltas, sorts.

use relayout_shadow::wire::{
    self, AllocRecord, BurstRecord, ConflictRecord, CountRecord, LineRecord, PairRecord,
    RecordKind, RegionRecord, STORED_VALUES_SEEN, SummaryRecord, VisitRecord, WireRecord,
};

use super::SegmentLosses;
use super::frames::SegmentFrame;
use super::gaps::TimedGaps;
use super::sites::{AssembledSites, records};
use crate::ids::{Addr, ContextId, RunId, SiteId};
use crate::model::{
    AccessKind, BurstRow, CoherenceEvent, ConflictRow, CountRow, LineRow, PairRow, RegionRow,
    VisitRow,
};

/// Why a record is dropped.
enum DroppedRecord {
    UnknownSite,
    UnknownOtherSide,
    Invalid,
}

/// A ticket of the bursts, and one of the visits.
#[derive(Clone, Copy)]
pub(super) struct TicketLimits {
    pub(super) bursts: u64,
    pub(super) visits: u64,
}

/// The rows of a run while they gather.
pub(super) struct AssembledRows {
    run: RunId,
    pub(super) contexts: u16,
    pub(super) sites: AssembledSites,
    pub(super) lines: Vec<LineRow>,
    pub(super) counts: Vec<CountRow>,
    pub(super) conflicts: Vec<ConflictRow>,
    pub(super) pairs: Vec<PairRow>,
    pub(super) bursts: Vec<BurstRow>,
    pub(super) visits: Vec<VisitRow>,
    pub(super) regions: Vec<RegionRow>,
    pub(super) gaps: TimedGaps,
    pub(super) summary: Option<SummaryRecord>,
    pub(super) allocs: Vec<AllocRecord>,
    pub(super) losses: SegmentLosses,
    /// Lowest tickets of records that were dropped; the highest number if none was.
    pub(super) first_dropped: TicketLimits,
    /// Some record shows that values were seen.
    values_shown: bool,
}

impl AssembledRows {
    /// No rows yet.
    pub(super) fn new(
        run: RunId,
        contexts: u16,
        sites: AssembledSites,
        losses: SegmentLosses,
    ) -> Self {
        Self {
            run,
            contexts,
            sites,
            lines: Vec::new(),
            counts: Vec::new(),
            conflicts: Vec::new(),
            pairs: Vec::new(),
            bursts: Vec::new(),
            visits: Vec::new(),
            regions: Vec::new(),
            gaps: TimedGaps::default(),
            summary: None,
            allocs: Vec::new(),
            losses,
            first_dropped: TicketLimits {
                bursts: u64::MAX,
                visits: u64::MAX,
            },
            values_shown: false,
        }
    }

    /// Takes the records of a segment; those that define sites are passed over.
    pub(super) fn add(&mut self, frame: &SegmentFrame<'_>) {
        match frame.kind {
            RecordKind::Site => {}
            RecordKind::Line => self.add_each(frame, Self::add_line),
            RecordKind::Count => self.add_each(frame, Self::add_count),
            RecordKind::Conflict => self.add_each(frame, Self::add_conflict),
            RecordKind::Pair => self.add_each(frame, Self::add_pair),
            RecordKind::Burst => self.add_each(frame, Self::add_burst),
            RecordKind::Visit => self.add_each(frame, Self::add_visit),
            RecordKind::Region => self.add_each(frame, Self::add_region),
            RecordKind::Summary => self.add_each(frame, Self::add_summary),
            RecordKind::Alloc => self.add_each(frame, Self::add_alloc),
            RecordKind::Gap => self.add_each(frame, |rows, context, record| {
                rows.gaps.add(context.0, &record);
                Ok(())
            }),
        }
    }

    fn add_each<T: WireRecord>(
        &mut self,
        frame: &SegmentFrame<'_>,
        add: impl Fn(&mut Self, ContextId, T) -> Result<(), DroppedRecord>,
    ) {
        for record in records::<T>(frame) {
            let context = self.valid_context(frame.context);
            match context.and_then(|context| add(self, context, record)) {
                Ok(()) => {}
                Err(DroppedRecord::UnknownSite) => self.losses.unknown_site += 1,
                Err(DroppedRecord::UnknownOtherSide) => self.losses.unknown_other_side += 1,
                Err(DroppedRecord::Invalid) => self.losses.invalid += 1,
            }
        }
    }

    fn add_line(&mut self, context: ContextId, r: LineRecord) -> Result<(), DroppedRecord> {
        if !r.line.is_multiple_of(relayout_shadow::LINE_BYTES as u64) {
            return Err(DroppedRecord::Invalid);
        }
        self.values_shown |= r.order_errors > 0;
        self.lines.push(LineRow {
            run: self.run,
            line: Addr(r.line),
            context,
            reads: r.reads,
            writes: r.writes,
            read_transfers: u64::from(r.first_reads) + u64::from(r.later_reads),
            first_reads: Some(r.first_reads.into()),
            write_transfers: r.write_transfers.into(),
            upgrades: r.upgrades.into(),
            order_errors: Some(r.order_errors.into()),
        });
        Ok(())
    }

    fn add_count(&mut self, context: ContextId, r: CountRecord) -> Result<(), DroppedRecord> {
        self.values_shown |= r.silent > 0;
        self.counts.push(CountRow {
            run: self.run,
            addr: Addr(r.addr),
            size: valid_size(r.size)?,
            context,
            site: self.site_row(r.site)?,
            access: decode_access(r.access)?,
            count: r.count.into(),
            silent: Some(r.silent.into()),
        });
        Ok(())
    }

    fn add_conflict(&mut self, context: ContextId, r: ConflictRecord) -> Result<(), DroppedRecord> {
        if r.other_size == 0 {
            return Err(DroppedRecord::UnknownOtherSide);
        }
        let (transfer, is_first_read) = decode_event(r.transfer)?;
        self.conflicts.push(ConflictRow {
            run: self.run,
            transfer,
            context,
            addr: Addr(r.addr),
            size: valid_size(r.size)?,
            site: self.site_row(r.site)?,
            access: decode_access(r.access)?,
            other_context: self.valid_context(r.other_context)?,
            other_addr: Addr(r.other_addr),
            other_size: valid_size(r.other_size)?,
            other_site: self.site_row(r.other_site)?,
            other_access: decode_access(r.other_access)?,
            count: r.count.into(),
            first_reads: Some(if is_first_read { r.count.into() } else { 0 }),
            false_first_touch: r.false_first_touch.into(),
            false_lifetime: r.false_lifetime.into(),
        });
        Ok(())
    }

    fn add_pair(&mut self, context: ContextId, r: PairRecord) -> Result<(), DroppedRecord> {
        self.pairs.push(PairRow {
            run: self.run,
            context,
            addr: Addr(r.addr),
            size: valid_size(r.size)?,
            site: self.site_row(r.site)?,
            access: decode_access(r.access)?,
            other_context: self.valid_context(r.other_context)?,
            other_addr: Addr(r.other_addr),
            other_size: valid_size(r.other_size)?,
            other_site: self.site_row(r.other_site)?,
            other_access: decode_access(r.other_access)?,
            samples: r.samples.into(),
        });
        Ok(())
    }

    fn add_burst(&mut self, context: ContextId, r: BurstRecord) -> Result<(), DroppedRecord> {
        let row = self.burst_row(context, r);
        match row {
            Ok(row) => {
                self.values_shown |= row.silent.is_some();
                self.bursts.push(row);
                Ok(())
            }
            Err(drop) => {
                self.first_dropped.bursts = self.first_dropped.bursts.min(r.ticket);
                Err(drop)
            }
        }
    }

    fn burst_row(&self, context: ContextId, r: BurstRecord) -> Result<BurstRow, DroppedRecord> {
        let silent = decode_known(r.silent)?;
        Ok(BurstRow {
            run: self.run,
            ticket: r.ticket,
            context,
            site: self.site_row(r.site)?,
            addr: Addr(r.addr),
            size: valid_size(r.size)?,
            access: decode_access(r.access)?,
            silent,
        })
    }

    fn add_visit(&mut self, context: ContextId, r: VisitRecord) -> Result<(), DroppedRecord> {
        let row = self.visit_row(context, r).inspect_err(|_| {
            self.first_dropped.visits = self.first_dropped.visits.min(r.ticket);
        })?;
        self.visits.push(row);
        Ok(())
    }

    fn visit_row(&self, context: ContextId, r: VisitRecord) -> Result<VisitRow, DroppedRecord> {
        const KNOWN: u8 = wire::LOCKED | wire::COMPARE_EXCHANGE | wire::STRING;
        let stored = decode_known(r.stored)?;
        let compare_exchange = r.instruction & wire::COMPARE_EXCHANGE != 0;
        if r.instruction & !KNOWN != 0 || stored.is_some() && !compare_exchange {
            return Err(DroppedRecord::Invalid);
        }
        Ok(VisitRow {
            run: self.run,
            ticket: r.ticket,
            context,
            clock: r.clock,
            operation: r.operation,
            site: self.site_row(r.site)?,
            addr: Addr(r.addr),
            size: valid_size(r.size)?,
            access: decode_access(r.access)?,
            locked: r.instruction & wire::LOCKED != 0,
            compare_exchange,
            string: r.instruction & wire::STRING != 0,
            stored,
        })
    }

    fn add_region(&mut self, _context: ContextId, r: RegionRecord) -> Result<(), DroppedRecord> {
        if r.end_ticket < r.first_ticket || r.end_op < r.first_op {
            return Err(DroppedRecord::Invalid);
        }
        self.regions.push(RegionRow {
            run: self.run,
            start: Addr(r.start),
            bytes: r.bytes,
            first_ticket: r.first_ticket,
            end_ticket: r.end_ticket,
            first_op: r.first_op,
            end_op: r.end_op,
            visits_end_ticket: Some(r.visits_end_ticket.min(r.end_ticket)),
        });
        Ok(())
    }

    fn add_alloc(&mut self, _context: ContextId, r: AllocRecord) -> Result<(), DroppedRecord> {
        if r.end_ticket < r.first_ticket || r.start.checked_add(r.bytes).is_none() {
            return Err(DroppedRecord::Invalid);
        }
        self.allocs.push(r);
        Ok(())
    }

    fn add_summary(&mut self, _context: ContextId, r: SummaryRecord) -> Result<(), DroppedRecord> {
        if self.summary.is_some() {
            return Err(DroppedRecord::Invalid);
        }
        self.summary = Some(r);
        Ok(())
    }

    /// Returns whether silent stores are known.
    pub(super) fn values_seen(&self) -> bool {
        self.summary
            .map_or(self.values_shown, |summary| summary.values_seen != 0)
    }

    /// Returns whether loads were compared with what the last store left.
    fn loads_seen(&self) -> bool {
        match self.summary {
            Some(summary) => !matches!(summary.values_seen, 0 | STORED_VALUES_SEEN),
            None => self.lines.iter().any(|row| row.order_errors > Some(0)),
        }
    }

    /// Adds up what belongs together, and sorts.
    pub(super) fn sum_up(&mut self, is_aborted: &dyn Fn() -> bool) {
        let tables = [
            Self::sum_lines,
            Self::sum_counts,
            Self::sum_conflicts,
            Self::sum_pairs,
        ];
        for sum_table in tables.into_iter().take_while(|_| !is_aborted()) {
            sum_table(self);
        }
        self.losses.duplicate_ticket += sort_by_ticket(&mut self.bursts, |row| row.ticket);
        self.losses.duplicate_ticket += sort_by_ticket(&mut self.visits, |row| row.ticket);
        self.regions
            .sort_unstable_by_key(|row| (row.start, row.first_ticket, row.end_ticket));
        self.regions.dedup();
        if !self.loads_seen() {
            self.lines
                .iter_mut()
                .for_each(|row| row.order_errors = None);
        }
        if !self.values_seen() {
            self.counts.iter_mut().for_each(|row| row.silent = None);
            self.bursts.iter_mut().for_each(|row| row.silent = None);
        }
    }

    fn sum_lines(&mut self) {
        let key = |row: &LineRow| (row.line, row.context);
        sum_equal_rows(&mut self.lines, key, |total, row| {
            add_saturating(&mut total.reads, row.reads);
            add_saturating(&mut total.writes, row.writes);
            add_saturating(&mut total.read_transfers, row.read_transfers);
            add_saturating(&mut total.write_transfers, row.write_transfers);
            add_saturating(&mut total.upgrades, row.upgrades);
            add_known(&mut total.first_reads, row.first_reads);
            add_known(&mut total.order_errors, row.order_errors);
        });
    }

    fn sum_counts(&mut self) {
        let key = |row: &CountRow| (row.addr, row.size, row.context, row.site, row.access);
        sum_equal_rows(&mut self.counts, key, |total, row| {
            add_saturating(&mut total.count, row.count);
            add_known(&mut total.silent, row.silent);
        });
        for row in &mut self.counts {
            if row.silent > Some(row.count) {
                row.silent = Some(row.count);
                self.losses.part_exceeds_whole += 1;
            }
        }
    }

    fn sum_conflicts(&mut self) {
        let own = |row: &ConflictRow| (row.addr, row.size, row.context, row.site, row.access);
        let other = |row: &ConflictRow| {
            (
                row.other_addr,
                row.other_size,
                row.other_context,
                row.other_site,
                row.other_access,
            )
        };
        let key = |row: &ConflictRow| (own(row), row.transfer, other(row));
        sum_equal_rows(&mut self.conflicts, key, |total, row| {
            add_saturating(&mut total.count, row.count);
            add_known(&mut total.first_reads, row.first_reads);
            add_saturating(&mut total.false_first_touch, row.false_first_touch);
            add_saturating(&mut total.false_lifetime, row.false_lifetime);
        });
        for row in &mut self.conflicts {
            if row.false_first_touch.max(row.false_lifetime) > row.count {
                row.false_first_touch = row.false_first_touch.min(row.count);
                row.false_lifetime = row.false_lifetime.min(row.count);
                self.losses.part_exceeds_whole += 1;
            }
        }
    }

    fn sum_pairs(&mut self) {
        let own = |row: &PairRow| (row.addr, row.size, row.context, row.site, row.access);
        let other = |row: &PairRow| {
            (
                row.other_addr,
                row.other_size,
                row.other_context,
                row.other_site,
                row.other_access,
            )
        };
        let key = |row: &PairRow| (own(row), other(row));
        sum_equal_rows(&mut self.pairs, key, |total, row| {
            add_saturating(&mut total.samples, row.samples);
        });
    }

    fn site_row(&self, number: u32) -> Result<SiteId, DroppedRecord> {
        self.sites
            .row_number(number)
            .ok_or(DroppedRecord::UnknownSite)
    }

    fn valid_context(&self, context: u16) -> Result<ContextId, DroppedRecord> {
        if context < self.contexts {
            Ok(ContextId(context))
        } else {
            Err(DroppedRecord::Invalid)
        }
    }
}

/// Sorts by ticket and drops all but the first row of each. Returns how many it dropped.
fn sort_by_ticket<R>(rows: &mut Vec<R>, ticket: impl Fn(&R) -> u64) -> u64 {
    rows.sort_by_key(&ticket);
    let before = rows.len();
    rows.dedup_by_key(|row| ticket(row));
    (before - rows.len()) as u64
}

/// Sorts by key and adds rows of equal key to the first of them.
fn sum_equal_rows<R, K: Ord>(rows: &mut Vec<R>, key: impl Fn(&R) -> K, add: impl Fn(&mut R, &R)) {
    rows.sort_unstable_by_key(&key);
    rows.dedup_by(|row, total| {
        let same = key(row) == key(total);
        if same {
            add(total, row);
        }
        same
    });
}

fn add_saturating(total: &mut u64, more: u64) {
    *total = total.saturating_add(more);
}

fn add_known(total: &mut Option<u64>, more: Option<u64>) {
    *total = total.zip(more).map(|(a, b)| a.saturating_add(b));
}

fn decode_access(number: u8) -> Result<AccessKind, DroppedRecord> {
    match number {
        0 => Ok(AccessKind::Read),
        1 => Ok(AccessKind::Write),
        2 => Ok(AccessKind::ReadWrite),
        _ => Err(DroppedRecord::Invalid),
    }
}

/// What a record says of a store: no, yes, or not known.
fn decode_known(number: u8) -> Result<Option<bool>, DroppedRecord> {
    match number {
        0 => Ok(Some(false)),
        1 => Ok(Some(true)),
        2 => Ok(None),
        _ => Err(DroppedRecord::Invalid),
    }
}

/// The event, and whether it is the first read of what a store left.
fn decode_event(number: u8) -> Result<(CoherenceEvent, bool), DroppedRecord> {
    match number {
        0 => Ok((CoherenceEvent::Read, true)),
        1 => Ok((CoherenceEvent::Write, false)),
        2 => Ok((CoherenceEvent::Upgrade, false)),
        3 => Ok((CoherenceEvent::Read, false)),
        _ => Err(DroppedRecord::Invalid),
    }
}

fn valid_size(bytes: u8) -> Result<u8, DroppedRecord> {
    if bytes > 0 {
        Ok(bytes)
    } else {
        Err(DroppedRecord::Invalid)
    }
}
