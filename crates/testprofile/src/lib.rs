//! Profiles of accesses that a test makes up, as a recorder would have counted and logged them.
//!
//! A test gives the accesses in order. All tables follow from them: counts, lines, conflicts with
//! both sides, pairs of adjacent lines, and the log in order.
//!
//! ```
//! use relayout_profile::{AccessKind, ProfileMeta};
//! use relayout_testprofile::{Step, profile_of_steps};
//!
//! // Two contexts add to neighbouring words in turn, so that the line moves each time.
//! let turn = [(0, AccessKind::ReadWrite, 0), (1, AccessKind::ReadWrite, 8)].map(Step::from);
//! let profile = profile_of_steps(ProfileMeta::default(), 0x1000, &[turn.repeat(10)]);
//! let transfers: u64 = profile.conflicts.iter().map(|row| row.count).sum();
//! assert_eq!(transfers, 19);
//! ```

use std::collections::{BTreeMap, BTreeSet};

use relayout_profile::{
    AccessKind, Addr, BurstRow, CoherenceEvent, ConflictRow, ContextId, CountRow, LineRow, PairRow,
    Profile, ProfileMeta, RangeKind, RangeRow, RecordedRun, RegionRow, RunId, Site, SiteId,
};

/// Bytes of a line in made-up profiles.
pub const LINE_BYTES: u64 = 64;
/// Bytes of the part of the image that ranges and logs have.
pub const IMAGE_BYTES: u64 = 4096;
/// Bytes of a member that is accessed.
const WORD_BYTES: u8 = 8;
/// Size of the regions that are logged, in bytes.
const REGION_BYTES: u32 = 512;
/// Address of the first instruction of those that a test gives no address.
const PC: u64 = 0x1000;
/// Code of such an instruction: a store of 4 bytes.
const CODE: [u8; 2] = [0x89, 0x07];

/// An access by a context to the word at an offset from the first byte of a recording.
pub type Word = (u16, AccessKind, u64);

/// An access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// CPU or thread.
    pub context: u16,
    /// Load, store or both.
    pub access: AccessKind,
    /// Bytes from the first byte of the recording.
    pub offset: u64,
    /// Bytes that are accessed.
    pub size: u8,
    /// Of a store: it left all bytes as they were.
    pub silent: Option<bool>,
    /// Address of the instruction; `None` for any, one for each offset and kind of access.
    pub pc: Option<u64>,
}

impl From<Word> for Step {
    fn from((context, access, offset): Word) -> Self {
        Self {
            context,
            access,
            offset,
            size: WORD_BYTES,
            silent: None,
            pc: None,
        }
    }
}

/// Returns the range of the image in a recording, from `start` on.
pub fn image(start: u64, run: u16) -> RangeRow {
    RangeRow {
        run: RunId(run),
        kind: RangeKind::Image,
        start: Addr(start),
        bytes: IMAGE_BYTES,
        owner: String::new(),
        id: 0,
        first: Addr(0),
        stride: 0,
        object_bytes: 0,
    }
}

/// Returns a profile of the accesses to the memory at `base`, in which each of `runs` is a recording.
/// `meta` tells all but the recordings and the number of contexts.
///
/// Contexts use a word either for themselves or not at all once they lost its line, so that what is
/// false by first touch is so by lifetime. Each way of access to an offset is an instruction.
pub fn profile_of_steps(meta: ProfileMeta, base: u64, runs: &[Vec<Step>]) -> Profile {
    let contexts = { runs.iter().flatten() }.map(|step| step.context).max();
    let ways: BTreeSet<AccessWay> = { runs.iter().flatten() }.map(Step::way).collect();
    let ways: Vec<AccessWay> = ways.into_iter().collect();
    let run = RecordedRun {
        complete: true,
        pair_period: Some(1),
        ..RecordedRun::default()
    };
    let site = |(nth, way): (u64, &AccessWay)| Site {
        pc: way.pc.unwrap_or(PC + 16 * nth),
        bytes: CODE.to_vec(),
    };
    let mut profile = Profile {
        meta: ProfileMeta {
            contexts: contexts.unwrap_or(1) + 1,
            runs: vec![run; runs.len()],
            ..meta
        },
        sites: (0..).zip(&ways).map(site).collect(),
        ..Profile::default()
    };
    for (run, steps) in (0..).zip(runs) {
        let recording = Recording {
            run,
            base,
            steps,
            ways: &ways,
        };
        recording.add_to(&mut profile);
    }
    profile
}

/// An instruction: offset, kind of access, and address where a test gives it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct AccessWay {
    offset: u64,
    access: AccessKind,
    pc: Option<u64>,
}

impl Step {
    fn way(&self) -> AccessWay {
        AccessWay {
            offset: self.offset,
            access: self.access,
            pc: self.pc,
        }
    }
}

/// One recording of the memory at `base`.
struct Recording<'a> {
    run: u16,
    base: u64,
    steps: &'a [Step],
    /// Instructions, by site.
    ways: &'a [AccessWay],
}

impl Recording<'_> {
    fn add_to(&self, profile: &mut Profile) {
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
