//! Rows out of samples.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use relayout_perf_data::MemorySample;

use super::{ImportError, ImportOptions, SampledInstruction};
use crate::ids::{Addr, ContextId, RunId, SiteId};
use crate::model::{AccessKind, BurstRow, CountRow, LineRow, Profile, Site};

/// Key of a row of `counts`: address, bytes, context, site and kind.
type CountKey = (Addr, u8, ContextId, SiteId, AccessKind);

/// The tables while they fill.
pub(super) struct SampleTables<'a> {
    options: &'a ImportOptions,
    sites: FxHashMap<u64, SiteId>,
    instructions: Vec<(u64, Option<SampledInstruction>)>,
    /// Instructions that were also sampled as stores: their loads are only loads.
    stores: FxHashSet<u64>,
    counts: FxHashMap<CountKey, u64>,
    lines: FxHashMap<(Addr, ContextId), LineRow>,
    /// In order of the file; for a ticket, the time.
    bursts: Vec<BurstRow>,
}

impl<'a> SampleTables<'a> {
    pub fn new(
        samples: &[MemorySample],
        options: &'a ImportOptions,
        code: &mut dyn FnMut(u64) -> Option<SampledInstruction>,
    ) -> Result<Self, ImportError> {
        let pcs: BTreeSet<u64> = samples.iter().map(|sample| sample.pc).collect();
        let (count, max) = (pcs.len(), u32::MAX as usize);
        if count > max {
            return Err(ImportError::TooMany {
                what: "instructions",
                count,
                max,
            });
        }
        let stores = samples
            .iter()
            .filter(|s| s.source.is_store())
            .map(|s| s.pc)
            .collect();
        Ok(Self {
            options,
            sites: (0..)
                .zip(&pcs)
                .map(|(site, pc)| (*pc, SiteId(site)))
                .collect(),
            instructions: pcs.into_iter().map(|pc| (pc, code(pc))).collect(),
            stores,
            counts: FxHashMap::default(),
            lines: FxHashMap::default(),
            bursts: Vec::with_capacity(samples.len()),
        })
    }

    pub fn add_sample(&mut self, sample: &MemorySample, context: ContextId) {
        let site = self.sites[&sample.pc];
        let instruction = self.instructions[site.index()].1.as_ref();
        // Where the instruction does not tell, only the first byte is known to have been accessed.
        let bytes = instruction.map_or(0, |insn| insn.access_bytes).max(1);
        let modifies = sample.source.is_locked() || instruction.is_some_and(|insn| insn.modifies);
        let access = match (sample.source.is_load(), sample.source.is_store()) {
            (true, true) => AccessKind::ReadWrite,
            (false, _) => AccessKind::Write,
            // One event samples both halves of it (IBS, SPE), as a load.
            (true, false) if modifies && !self.stores.contains(&sample.pc) => AccessKind::ReadWrite,
            (true, false) => AccessKind::Read,
        };
        let addr = Addr(self.link_address(sample.addr));
        let count = self
            .counts
            .entry((addr, bytes, context, site, access))
            .or_default();
        *count = count.saturating_add(sample.period);
        self.bursts.push(BurstRow {
            run: RunId(0),
            ticket: sample.time_ns,
            context,
            site,
            addr,
            size: bytes,
            access,
            silent: None,
        });
        let line_bytes = u64::from(self.options.line_bytes);
        let line = addr.align_down(line_bytes);
        self.add_line(line, context, sample, access);
        let last = addr.saturating_add(u64::from(bytes) - 1);
        if last.align_down(line_bytes) != line {
            self.add_line(last.align_down(line_bytes), context, sample, access);
        }
    }

    fn add_line(
        &mut self,
        line: Addr,
        context: ContextId,
        sample: &MemorySample,
        access: AccessKind,
    ) {
        let row = self.lines.entry((line, context)).or_insert(LineRow {
            run: RunId(0),
            line,
            context,
            reads: 0,
            writes: 0,
            read_transfers: 0,
            first_reads: None,
            write_transfers: 0,
            upgrades: 0,
            order_errors: None,
        });
        let add = |sum: &mut u64| *sum = sum.saturating_add(sample.period);
        if access != AccessKind::Write {
            add(&mut row.reads);
        }
        if access != AccessKind::Read {
            add(&mut row.writes);
        }
        match access {
            _ if !sample.source.is_hitm() => {}
            AccessKind::Read => add(&mut row.read_transfers),
            AccessKind::Write | AccessKind::ReadWrite => add(&mut row.write_transfers),
        }
    }

    fn link_address(&self, address: u64) -> u64 {
        let (start, end) = self.options.image;
        if (start..end).contains(&address) {
            address.wrapping_sub(self.options.slide)
        } else {
            address
        }
    }

    pub fn notes(&self, samples: &[MemorySample]) -> Vec<String> {
        let instruction = |pc: &u64| self.instructions[self.sites[pc].index()].1.as_ref();
        let unknown = samples
            .iter()
            .filter(|s| instruction(&s.pc).is_none())
            .count();
        let unsized_ = samples
            .iter()
            .filter(|s| instruction(&s.pc).is_some_and(|i| i.access_bytes == 0));
        let untimed = samples.iter().filter(|s| s.time_ns == 0).count();
        let note =
            |count: usize, text: &str| (count > 0).then(|| format!("{count} samples {text}"));
        let notes = [
            note(
                unknown,
                "are of instructions whose file is not at hand: one byte counts as accessed",
            ),
            note(
                unsized_.count(),
                "are of instructions that fix no size: one byte counts as accessed",
            ),
            note(
                untimed,
                "do not say when they were taken: the order of none is known",
            ),
        ];
        notes.into_iter().flatten().collect()
    }

    pub fn finish(self) -> Profile {
        let pcs: Vec<u64> = self
            .instructions
            .iter()
            .map(|(pc, _)| self.link_address(*pc))
            .collect();
        let bytes = self
            .instructions
            .into_iter()
            .map(|(_, insn)| insn.unwrap_or_default().bytes);
        let sites = pcs
            .into_iter()
            .zip(bytes)
            .map(|(pc, bytes)| Site { pc, bytes })
            .collect();
        let mut lines: Vec<LineRow> = self.lines.into_values().collect();
        lines.sort_by_key(|row| (row.line, row.context));
        let row = |((addr, size, context, site, access), count)| CountRow {
            run: RunId(0),
            addr,
            size,
            context,
            site,
            access,
            count,
            silent: None,
        };
        let mut counts: Vec<CountRow> = self.counts.into_iter().map(row).collect();
        counts.sort_by_key(|row| (row.addr, row.size, row.context, row.site, row.access));
        Profile {
            sites,
            lines,
            counts,
            bursts: in_order(self.bursts),
            ..Profile::default()
        }
    }
}

/// Samples by time, those of one time as in the file, numbered from 0; none if a time is not known.
fn in_order(mut bursts: Vec<BurstRow>) -> Vec<BurstRow> {
    if bursts.iter().any(|burst| burst.ticket == 0) {
        return Vec::new();
    }
    bursts.sort_by_key(|burst| burst.ticket);
    for (ticket, burst) in (0..).zip(&mut bursts) {
        burst.ticket = ticket;
    }
    bursts
}
