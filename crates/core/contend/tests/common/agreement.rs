//! Ranks by rates beside ranks by replay, on the same accesses.

use std::collections::BTreeMap;
use std::fmt;

#[path = "spearman.rs"]
mod spearman;

use relayout_contend::{
    BytePlacement, ObjectExtent, ObjectTrace, PreparedTrace, RecordedPlacement, TraceAccess,
    TraceIndex, rates,
};
use relayout_profile::{
    AccessCoverage, AccessKind, Addr, BurstRow, CoherenceEvent, ContextId, CountRow, Profile,
    ProfileMeta, RecordedRun, RegionRow, RunId, Site, SiteId,
};
use relayout_statistics::random::{RandomSequence, XorShift64};
use spearman::spearman;

const LINE_BYTES: u32 = 64;
/// Address of an object while its accesses are counted.
const BASE: u64 = 1 << 20;
/// Estimates are whole numbers. So that rounding is too small to matter, counts are multiplied by
/// this.
const SCALE: u64 = 1000;

/// Ranking to compare with that by replay.
// The test needs some of them, the example all.
#[allow(dead_code)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankedBy {
    /// Rates of the counts.
    Rates,
    /// The same, as if there were counts for each of so many stretches of the trace.
    Stretches(usize),
    /// Rates of samples: one access of so many, at random.
    Samples(u64),
    /// The same, with the order of the samples.
    OrderedSamples(u64),
    /// The same formula, told how often each context came to the line and left it to another: what
    /// only the order tells. Where this ranks well, what `Rates` lacks is the number of episodes.
    KnownEpisodes,
    /// The transfers of the first half of each trace beside those of the second: how far the
    /// recording ranks as it does itself.
    Halves,
}

/// Spearman's correlation, and over how many.
#[derive(Clone, Copy, Debug)]
pub struct Agreement {
    pub spearman: f64,
    pub compared: usize,
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:.2} of {}", self.spearman, self.compared))
    }
}

/// Aligned blocks of so many bytes that were logged and have `least` transfers: fewer are ranked by
/// chance. By each of `ways`.
pub fn by_block<const N: usize>(
    profile: &Profile,
    bytes: u32,
    least: f64,
    ways: [RankedBy; N],
) -> [Agreement; N] {
    let ranked: Vec<[[f64; 2]; N]> = objects(profile, bytes, least)
        .map(|(transfers, object)| ways.map(|by| object.both(transfers, &RecordedPlacement, by)))
        .collect();
    std::array::from_fn(|way| {
        let pairs: Vec<[f64; 2]> = ranked.iter().map(|pairs| pairs[way]).collect();
        Agreement {
            spearman: spearman(&pairs),
            compared: pairs.len(),
        }
    })
}

/// The median over the `count` blocks of 256 bytes with most transfers, of the agreement over
/// `layouts` random orders of their words. By each of `ways`.
pub fn by_layout<const N: usize>(
    profile: &Profile,
    count: usize,
    layouts: u64,
    least: f64,
    ways: [RankedBy; N],
) -> [Agreement; N] {
    let mut ranked: Vec<(f64, LoggedBlock)> = objects(profile, 256, least).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    let of_object = |(_, object): &(f64, LoggedBlock)| -> [f64; N] {
        let layouts: Vec<[[f64; 2]; N]> = (0..layouts)
            .map(|seed| {
                let order = shuffled(32, seed + 1);
                let place = |offset: u32| order[offset as usize / 8 % 32] * 8 + offset % 8;
                let transfers = object.replayed(&place);
                ways.map(|by| object.both(transfers, &place, by))
            })
            .collect();
        std::array::from_fn(|way| {
            let pairs: Vec<[f64; 2]> = layouts.iter().map(|pairs| pairs[way]).collect();
            spearman(&pairs)
        })
    };
    let found: Vec<[f64; N]> = ranked.iter().take(count).map(of_object).collect();
    std::array::from_fn(|way| {
        let of_way = found.iter().map(|of_object| of_object[way]);
        // Where all layouts cost the same, there is no rank.
        let mut of_way: Vec<f64> = of_way.filter(|spearman| spearman.is_finite()).collect();
        of_way.sort_by(f64::total_cmp);
        Agreement {
            spearman: of_way.get(of_way.len() / 2).copied().unwrap_or(f64::NAN),
            compared: of_way.len(),
        }
    })
}

/// Logged accesses of a block, ready for replay.
struct LoggedBlock {
    traces: Vec<ObjectTrace>,
    replays: Vec<PreparedTrace>,
    /// Of the first half of each trace, and of the second.
    halves: [Vec<PreparedTrace>; 2],
}

impl LoggedBlock {
    fn new(traces: Vec<ObjectTrace>) -> Self {
        let halves = |trace: &ObjectTrace| {
            let (first, second) = trace.accesses.split_at(trace.accesses.len() / 2);
            [first, second].map(|half| PreparedTrace::new(&trace_of(half)))
        };
        let (first, second) = traces.iter().map(halves).map(|[a, b]| (a, b)).unzip();
        Self {
            replays: traces.iter().map(PreparedTrace::new).collect(),
            halves: [first, second],
            traces,
        }
    }

    fn replayed(&self, placement: &impl BytePlacement) -> f64 {
        replayed(&self.replays, placement)
    }

    /// `transfers` as replayed with this placement, and as expected; or of both halves.
    fn both(&self, transfers: f64, placement: &impl BytePlacement, by: RankedBy) -> [f64; 2] {
        let sum = |of: &dyn Fn(&ObjectTrace) -> f64| [transfers, self.traces.iter().map(of).sum()];
        match by {
            RankedBy::Halves => [0, 1].map(|half| replayed(&self.halves[half], placement)),
            RankedBy::KnownEpisodes => sum(&|trace| expected(&episodes(trace, placement))),
            RankedBy::Rates => sum(&|trace| expected(&counted(&trace.accesses, placement))),
            RankedBy::Samples(period) => {
                sum(&|trace| expected(&counted(&samples(trace, period), placement)))
            }
            RankedBy::OrderedSamples(period) => {
                sum(&|trace| expected(&ordered(&samples(trace, period), placement)))
            }
            RankedBy::Stretches(count) => sum(&|trace| {
                let length = trace.accesses.len().div_ceil(count).max(1);
                let stretches = trace.accesses.chunks(length);
                stretches
                    .map(|stretch| expected(&counted(stretch, placement)))
                    .sum()
            }),
        }
    }
}

fn replayed(replays: &[PreparedTrace], placement: &impl BytePlacement) -> f64 {
    let transfers =
        |replay: &PreparedTrace| replay.tally(0, placement, LINE_BYTES).transfers() as f64;
    replays.iter().map(transfers).sum()
}

fn trace_of(accesses: &[TraceAccess]) -> ObjectTrace {
    ObjectTrace {
        accesses: accesses.to_vec(),
        ..ObjectTrace::default()
    }
}

/// Blocks that were logged and have `least` transfers, with these.
fn objects(profile: &Profile, bytes: u32, least: f64) -> impl Iterator<Item = (f64, LoggedBlock)> {
    let index = TraceIndex::new(profile);
    let traces = move |extent| LoggedBlock::new(index.traces(extent));
    let objects = blocks(profile, bytes).into_iter().map(traces);
    let replayed = objects.map(|object| (object.replayed(&RecordedPlacement), object));
    replayed.filter(move |(transfers, _)| *transfers >= least)
}

fn blocks(profile: &Profile, bytes: u32) -> Vec<ObjectExtent> {
    let block_of = |row: &BurstRow| (row.run, row.addr.align_down(bytes.into()));
    let mut all: Vec<(RunId, Addr)> = profile.bursts.iter().map(block_of).collect();
    all.sort_unstable();
    all.dedup();
    let logged = |extent: &ObjectExtent| {
        let end = extent.base + u64::from(extent.bytes);
        let meets =
            |row: &RegionRow| row.start < end && row.start + u64::from(row.bytes) > extent.base;
        profile
            .regions
            .iter()
            .any(|row| row.run == extent.run && meets(row))
    };
    let extent = |(run, base)| ObjectExtent { run, base, bytes };
    all.into_iter().map(extent).filter(logged).collect()
}

/// Transfers expected from counts.
fn expected(counts: &Profile) -> f64 {
    let events = rates::estimate(counts);
    let transfers = events
        .iter()
        .filter(|row| row.transfer != CoherenceEvent::Upgrade);
    transfers.map(|row| row.count as f64).sum::<f64>() / SCALE as f64
}

/// One access of `period`, at random, and the same ones whatever their layout.
fn samples(trace: &ObjectTrace, period: u64) -> Vec<TraceAccess> {
    let taken = |index: u64| {
        // splitmix64
        let mut z = (trace.base.0 << 16 ^ index).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31).is_multiple_of(period)
    };
    let indexed = (0..).zip(&trace.accesses);
    let kept = indexed.filter(|(index, _)| taken(*index));
    kept.map(|(_, access)| *access).collect()
}

/// Accesses with their order, as samples have it.
fn ordered(accesses: &[TraceAccess], placement: &impl BytePlacement) -> Profile {
    let burst = |(ticket, access): (u64, &TraceAccess)| BurstRow {
        run: RunId(0),
        ticket,
        context: access.context,
        site: access.site,
        addr: Addr(BASE + u64::from(placement.place(access.offset))),
        size: access.size,
        access: access.access,
        silent: None,
    };
    Profile {
        bursts: (0..).zip(accesses).map(burst).collect(),
        ..counted(accesses, placement)
    }
}

/// Accesses without their order.
fn counted(accesses: &[TraceAccess], placement: &impl BytePlacement) -> Profile {
    let mut counts = Counts::default();
    for access in accesses {
        let addr = BASE + u64::from(placement.place(access.offset));
        counts.add(
            addr,
            access.size,
            access.context.0,
            access.site.0,
            access.access,
        );
    }
    counts.profile()
}

/// One access for each time that a context came to a line and left it to another: a store if there
/// was one.
fn episodes(trace: &ObjectTrace, placement: &impl BytePlacement) -> Profile {
    let mut counts = Counts::default();
    let mut open: BTreeMap<u64, (ContextId, AccessKind)> = BTreeMap::new();
    for accessed in &trace.accesses {
        let bytes = accessed.offset..accessed.offset + u32::from(accessed.size);
        let mut lines: Vec<u64> = bytes
            .map(|byte| u64::from(placement.place(byte) / LINE_BYTES))
            .collect();
        lines.dedup();
        for line in lines {
            let (context, access) = open
                .entry(line)
                .or_insert((accessed.context, AccessKind::Read));
            if *context != accessed.context {
                let addr = BASE + line * u64::from(LINE_BYTES);
                counts.add(addr, 1, context.0, 0, *access);
                (*context, *access) = (accessed.context, AccessKind::Read);
            }
            if accessed.is_store() {
                *access = AccessKind::ReadWrite;
            }
        }
    }
    for (line, (context, access)) in open {
        let addr = BASE + line * u64::from(LINE_BYTES);
        counts.add(addr, 1, context.0, 0, access);
    }
    counts.profile()
}

#[derive(Default)]
struct Counts(BTreeMap<(u64, u8, u16, u32, u8), CountRow>);

impl Counts {
    fn add(&mut self, addr: u64, size: u8, context: u16, site: u32, access: AccessKind) {
        let key = (addr, size, context, site, access as u8);
        let row = self.0.entry(key).or_insert(CountRow {
            run: RunId(0),
            addr: Addr(addr),
            size,
            context: ContextId(context),
            site: SiteId(site),
            access,
            count: 0,
            silent: None,
        });
        row.count += SCALE;
    }

    fn profile(self) -> Profile {
        let sites = self.0.values().map(|row| row.site.0 + 1).max().unwrap_or(0);
        let site = Site {
            pc: 0,
            bytes: Vec::new(),
        };
        Profile {
            meta: ProfileMeta {
                line_bytes: LINE_BYTES,
                contexts: 64,
                coverage: AccessCoverage::Samples,
                runs: vec![RecordedRun::default()],
                ..ProfileMeta::default()
            },
            sites: vec![site; sites as usize],
            counts: self.0.into_values().collect(),
            ..Profile::default()
        }
    }
}

fn shuffled(count: u32, seed: u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count).collect();
    XorShift64::new(seed).shuffle(&mut order);
    order
}
