//! Tables of one recording, by its accesses in order.

use std::collections::{BTreeMap, BTreeSet};

use relayout_profile::{
    AccessKind, Addr, BurstRow, CoherenceEvent, ConflictRow, ContextId, CountRow, LineRow, PairRow,
    Profile, RegionRow, RunId, SiteId,
};

use crate::{AccessWay, IMAGE_BYTES, LINE_BYTES, REGION_BYTES, Step, image};

/// One recording of the memory at `base`.
pub(crate) struct Recording<'a> {
    /// Number of the run.
    pub run: u16,
    /// First byte of the memory.
    pub base: u64,
    /// Accesses, in order.
    pub steps: &'a [Step],
    /// Instructions, by site.
    pub ways: &'a [AccessWay],
}

impl Recording<'_> {
    /// Adds its rows to all tables.
    pub fn add_to(&self, profile: &mut Profile) {
        let &Self { run, base, .. } = self;
        profile.ranges.push(image(base, run));
        let starts = (base..base + IMAGE_BYTES).step_by(REGION_BYTES as usize);
        profile.regions.extend(starts.map(|start| RegionRow {
            run: RunId(run),
            start: Addr(start),
            bytes: REGION_BYTES,
            first_ticket: 0,
            end_ticket: self.steps.len() as u64,
            first_op: 0,
            end_op: 0,
            visits_end_ticket: None,
        }));
        let bursts = (0..).zip(self.steps);
        let burst = |(ticket, step): (u64, &Step)| BurstRow {
            run: RunId(run),
            ticket,
            context: ContextId(step.context),
            site: SiteId(self.site(step)),
            addr: Addr(base + step.offset),
            size: step.size,
            access: step.access,
            silent: step.silent,
        };
        profile.bursts.extend(bursts.map(burst));
        profile.lines.extend(self.lines());
        profile.counts.extend(self.counts());
        profile.conflicts.extend(self.conflicts());
        profile.pairs.extend(self.pairs());
    }

    fn site(&self, step: &Step) -> u32 {
        let way = step.way();
        let site = self.ways.iter().position(|known_way| *known_way == way);
        site.expect("all ways were gathered") as u32
    }

    /// Number of the line that a step is to.
    fn line(&self, step: &Step) -> u64 {
        (self.base + step.offset) / LINE_BYTES
    }

    fn lines(&self) -> Vec<LineRow> {
        let mut rows: BTreeMap<(u64, u16), LineRow> = BTreeMap::new();
        for step in self.steps {
            let line = self.line(step) * LINE_BYTES;
            let row = rows.entry((line, step.context)).or_insert(LineRow {
                run: RunId(self.run),
                line: Addr(line),
                context: ContextId(step.context),
                reads: 0,
                writes: 0,
                read_transfers: 0,
                first_reads: None,
                write_transfers: 0,
                upgrades: 0,
                order_errors: None,
            });
            row.reads += u64::from(step.access != AccessKind::Write);
            row.writes += u64::from(step.access != AccessKind::Read);
        }
        rows.into_values().collect()
    }

    fn counts(&self) -> Vec<CountRow> {
        let mut rows: BTreeMap<(u64, u16, AccessKind), CountRow> = BTreeMap::new();
        for step in self.steps {
            let key = (step.offset, step.context, step.access);
            let row = rows.entry(key).or_insert(CountRow {
                run: RunId(self.run),
                addr: Addr(self.base + step.offset),
                size: step.size,
                context: ContextId(step.context),
                site: SiteId(self.site(step)),
                access: step.access,
                count: 0,
                silent: None,
            });
            row.count += 1;
            if let Some(silent) = step.silent {
                *row.silent.get_or_insert(0) += u64::from(silent);
            }
        }
        rows.into_values().collect()
    }

    fn conflicts(&self) -> Vec<ConflictRow> {
        let contexts: BTreeSet<u16> = self.steps.iter().map(|step| step.context).collect();
        let mut lines: BTreeMap<u64, Line> = BTreeMap::new();
        let mut rows: Vec<ConflictRow> = Vec::new();
        for step in self.steps {
            let context = step.context;
            let line = lines.entry(self.line(step)).or_default();
            let alone = line.valid.iter().all(|holder| *holder == context);
            let is_foreign = line.writers.iter().any(|writer| *writer != context);
            let transfer = match (line.valid.contains(&context), step.access) {
                (true, AccessKind::Read) => None,
                (true, _) => (!alone).then_some(CoherenceEvent::Upgrade),
                // What nobody else stored to comes from memory.
                (false, _) if !is_foreign => None,
                (false, AccessKind::Read) => Some(CoherenceEvent::Read),
                (false, _) => Some(CoherenceEvent::Write),
            };
            let other = line.last.filter(|other| other.context != context);
            if let Some((transfer, other)) = transfer.zip(other) {
                let news = line.news.get(&context);
                let is_news = news.is_some_and(|news| news.contains(&step.offset));
                let is_false = transfer != CoherenceEvent::Upgrade && !is_news;
                add(&mut rows, self.conflict(transfer, step, &other, is_false));
            }
            line.valid.insert(context);
            line.news.remove(&context);
            if step.access != AccessKind::Read {
                line.writers.insert(context);
                line.valid.retain(|holder| *holder == context);
                let changed = step.silent != Some(true);
                for other in contexts
                    .iter()
                    .filter(|other| changed && **other != context)
                {
                    line.news.entry(*other).or_default().insert(step.offset);
                }
            }
            // Upgrades name who had a copy.
            if step.access != AccessKind::Read
                || line.last.is_none_or(|last| last.context != context)
            {
                line.last = Some(*step);
            }
        }
        rows.sort_by_key(|row| row.addr);
        rows
    }

    fn conflict(
        &self,
        transfer: CoherenceEvent,
        here: &Step,
        there: &Step,
        is_false: bool,
    ) -> ConflictRow {
        ConflictRow {
            run: RunId(self.run),
            transfer,
            context: ContextId(here.context),
            addr: Addr(self.base + here.offset),
            size: here.size,
            site: SiteId(self.site(here)),
            access: here.access,
            other_context: ContextId(there.context),
            other_addr: Addr(self.base + there.offset),
            other_size: there.size,
            other_site: SiteId(self.site(there)),
            other_access: there.access,
            count: 1,
            first_reads: None,
            false_first_touch: is_false.into(),
            false_lifetime: is_false.into(),
        }
    }

    /// Accesses to a line that nobody else stored to since, after another stored to its buddy: all
    /// are samples.
    fn pairs(&self) -> Vec<PairRow> {
        let mut rows: BTreeMap<(u64, u16, AccessKind, u64, u16), PairRow> = BTreeMap::new();
        for (now, step) in self.steps.iter().enumerate() {
            let line = self.line(step);
            let before = || self.steps[..now].iter().enumerate().rev();
            let own = |on: &dyn Fn(u64) -> bool| {
                let mine = |(_, other): &(usize, &Step)| {
                    other.context == step.context && on(self.line(other))
                };
                before().find(mine).map(|(at, _)| at)
            };
            let stored = |line: u64| {
                let foreign = |(_, other): &(usize, &Step)| {
                    other.context != step.context
                        && other.access != AccessKind::Read
                        && self.line(other) == line
                };
                before().find(foreign)
            };
            let Some(last) = own(&|other| other == line) else {
                continue;
            };
            let stays = stored(line).is_none_or(|(at, _)| at < last);
            let pair = own(&|other| other / 2 == line / 2);
            if let Some((at, other)) = stored(line ^ 1)
                && stays
                && Some(at) > pair
            {
                let key = (
                    step.offset,
                    step.context,
                    step.access,
                    other.offset,
                    other.context,
                );
                let row = rows.entry(key).or_insert(PairRow {
                    run: RunId(self.run),
                    context: ContextId(step.context),
                    addr: Addr(self.base + step.offset),
                    size: step.size,
                    site: SiteId(self.site(step)),
                    access: step.access,
                    other_context: ContextId(other.context),
                    other_addr: Addr(self.base + other.offset),
                    other_size: other.size,
                    other_site: SiteId(self.site(other)),
                    other_access: other.access,
                    samples: 0,
                });
                row.samples += 1;
            }
        }
        rows.into_values().collect()
    }
}

/// State of a line: contexts that hold it and that stored to it, its last access, and by context
/// the words that others stored to since the context lost the line.
#[derive(Default)]
struct Line {
    valid: BTreeSet<u16>,
    writers: BTreeSet<u16>,
    last: Option<Step>,
    news: BTreeMap<u16, BTreeSet<u64>>,
}

/// Counts of the same access against the same other are one row.
fn add(rows: &mut Vec<ConflictRow>, row: ConflictRow) {
    let same = |known_row: &&mut ConflictRow| {
        let key = |row: &ConflictRow| {
            (
                (row.transfer, row.context, row.addr, row.access),
                (row.other_context, row.other_addr, row.other_access),
            )
        };
        key(known_row) == key(&row)
    };
    match rows.iter_mut().find(same) {
        Some(known_row) => {
            known_row.count += row.count;
            known_row.false_first_touch += row.false_first_touch;
            known_row.false_lifetime += row.false_lifetime;
        }
        None => rows.push(row),
    }
}
