//! Ranks by rates beside ranks by replay, on the same accesses.

use std::collections::BTreeMap;
use std::fmt;

use relayout_contend::rates;
use relayout_contend::{Extent, ObjectTrace, Placement, Recorded, Replay, TraceAccess, TraceIndex};
use relayout_profile::{
    Access, BurstRow, CountRow, Coverage, Meta, Profile, RegionRow, Run, Site, Transfer,
};

#[path = "spearman.rs"]
mod spearman;

use spearman::spearman;

const LINE_BYTES: u32 = 64;
/// Where an object is put to be counted.
const BASE: u64 = 1 << 20;
/// Estimates are whole numbers. So that rounding is too small to matter, counts are multiplied by this.
const SCALE: u64 = 1000;

/// What ranks are compared with those by replay.
// The test needs some of them, the example all.
#[allow(dead_code)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Rates of the counts.
    Rates,
    /// The same, as if there were counts for each of so many stretches of the trace.
    Stretches(usize),
    /// The same formula, told how often each context came to the line and left it to another: what only the
    /// order tells. Where this ranks well, what `Rates` lacks is the number of episodes.
    KnownEpisodes,
    /// The transfers of the first half of each trace beside those of the second: how far the recording ranks as
    /// it does itself.
    Halves,
}

/// Spearman's correlation, and over how many.
#[derive(Clone, Copy, Debug)]
pub struct Agreement {
    pub spearman: f64,
    pub of: usize,
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:.2} of {}", self.spearman, self.of))
    }
}

/// Aligned blocks of so many bytes that were logged and have `least` transfers: fewer are ranked by chance.
pub fn by_block(profile: &Profile, bytes: u32, least: f64, by: By) -> Agreement {
    let index = TraceIndex::new(profile);
    let traces = blocks(profile, bytes)
        .into_iter()
        .map(|extent| index.traces(extent));
    let pairs: Vec<[f64; 2]> = traces
        .filter(|traces| replayed(traces, 0, &Recorded) >= least)
        .map(|traces| both(&traces, 0, &Recorded, by))
        .collect();
    Agreement {
        spearman: spearman(&pairs),
        of: pairs.len(),
    }
}

/// The median over the `objects` blocks of 256 bytes with most transfers, of the agreement over `layouts`
/// random orders of their words.
pub fn by_layout(profile: &Profile, objects: usize, layouts: u64, least: f64, by: By) -> Agreement {
    let index = TraceIndex::new(profile);
    let mut ranked: Vec<(f64, Vec<ObjectTrace>)> = blocks(profile, 256)
        .into_iter()
        .map(|extent| index.traces(extent))
        .map(|traces| (replayed(&traces, 0, &Recorded), traces))
        .filter(|(transfers, _)| *transfers >= least)
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut found: Vec<f64> = ranked
        .iter()
        .take(objects)
        .map(|(_, traces)| {
            let pairs: Vec<[f64; 2]> = (0..layouts)
                .map(|seed| {
                    let order = shuffled(32, seed + 1);
                    let place = |offset: u32| order[offset as usize / 8 % 32] * 8 + offset % 8;
                    both(traces, 0, &place, by)
                })
                .collect();
            spearman(&pairs)
        })
        // Where all layouts cost the same, there is no rank.
        .filter(|spearman| spearman.is_finite())
        .collect();
    found.sort_by(f64::total_cmp);
    Agreement {
        spearman: found.get(found.len() / 2).copied().unwrap_or(f64::NAN),
        of: found.len(),
    }
}

fn blocks(profile: &Profile, bytes: u32) -> Vec<Extent> {
    let of = |row: &BurstRow| (row.run, row.addr - row.addr % u64::from(bytes));
    let mut all: Vec<(u16, u64)> = profile.bursts.iter().map(of).collect();
    all.sort_unstable();
    all.dedup();
    let logged = |extent: &Extent| {
        let end = extent.base + u64::from(extent.bytes);
        let meets =
            |row: &RegionRow| row.start < end && row.start + u64::from(row.bytes) > extent.base;
        profile
            .regions
            .iter()
            .any(|row| row.run == extent.run && meets(row))
    };
    let extent = |(run, base)| Extent { run, base, bytes };
    all.into_iter().map(extent).filter(logged).collect()
}

fn replayed(traces: &[ObjectTrace], phase: u32, placement: &impl Placement) -> f64 {
    let transfers = |trace: &ObjectTrace| {
        let tally = Replay::new(trace).tally(phase, placement, LINE_BYTES);
        tally.transfers() as f64
    };
    traces.iter().map(transfers).sum()
}

/// Transfers as replayed, and as expected; or of both halves.
fn both(traces: &[ObjectTrace], phase: u32, placement: &impl Placement, by: By) -> [f64; 2] {
    if by == By::Halves {
        let halves: Vec<[ObjectTrace; 2]> = traces
            .iter()
            .map(|trace| {
                let (first, second) = trace.accesses.split_at(trace.accesses.len() / 2);
                [first, second].map(of_accesses)
            })
            .collect();
        return [0, 1].map(|half| {
            let of_half = |halves: &[ObjectTrace; 2]| {
                replayed(std::slice::from_ref(&halves[half]), phase, placement)
            };
            halves.iter().map(of_half).sum()
        });
    }
    let expected = traces.iter().map(|trace| match by {
        By::KnownEpisodes => expected(&episodes(trace, placement)),
        By::Stretches(count) => {
            let length = trace.accesses.len().div_ceil(count).max(1);
            let stretches = trace.accesses.chunks(length);
            stretches
                .map(|stretch| expected(&counted(stretch, placement)))
                .sum()
        }
        By::Rates | By::Halves => expected(&counted(&trace.accesses, placement)),
    });
    [replayed(traces, phase, placement), expected.sum()]
}

fn of_accesses(accesses: &[TraceAccess]) -> ObjectTrace {
    ObjectTrace {
        accesses: accesses.to_vec(),
        ..ObjectTrace::default()
    }
}

/// Transfers expected from counts.
fn expected(counts: &Profile) -> f64 {
    let events = rates::estimate(counts);
    let transfers = events
        .iter()
        .filter(|row| row.transfer != Transfer::Upgrade);
    transfers.map(|row| row.count as f64).sum::<f64>() / SCALE as f64
}

/// Accesses without their order.
fn counted(accesses: &[TraceAccess], placement: &impl Placement) -> Profile {
    let mut counts = Counts::default();
    for one in accesses {
        let addr = BASE + u64::from(placement.place(one.offset));
        counts.add(addr, one.size, one.context, one.site, one.access);
    }
    counts.profile()
}

/// One access for each time that a context came to a line and left it to another: a store if there was one.
fn episodes(trace: &ObjectTrace, placement: &impl Placement) -> Profile {
    let mut counts = Counts::default();
    let mut open: BTreeMap<u64, (u16, Access)> = BTreeMap::new();
    for one in &trace.accesses {
        let bytes = one.offset..one.offset + u32::from(one.size);
        let mut lines: Vec<u64> = bytes
            .map(|byte| u64::from(placement.place(byte) / LINE_BYTES))
            .collect();
        lines.dedup();
        for line in lines {
            let (context, access) = open.entry(line).or_insert((one.context, Access::Read));
            if *context != one.context {
                let addr = BASE + line * u64::from(LINE_BYTES);
                counts.add(addr, 1, *context, 0, *access);
                (*context, *access) = (one.context, Access::Read);
            }
            if one.is_store() {
                *access = Access::ReadWrite;
            }
        }
    }
    for (line, (context, access)) in open {
        let addr = BASE + line * u64::from(LINE_BYTES);
        counts.add(addr, 1, context, 0, access);
    }
    counts.profile()
}

#[derive(Default)]
struct Counts(BTreeMap<(u64, u8, u16, u32, u8), CountRow>);

impl Counts {
    fn add(&mut self, addr: u64, size: u8, context: u16, site: u32, access: Access) {
        let key = (addr, size, context, site, access as u8);
        let row = self.0.entry(key).or_insert(CountRow {
            run: 0,
            addr,
            size,
            context,
            site,
            access,
            count: 0,
            silent: None,
        });
        row.count += SCALE;
    }

    fn profile(self) -> Profile {
        let sites = self.0.values().map(|row| row.site + 1).max().unwrap_or(0);
        let site = Site {
            pc: 0,
            bytes: Vec::new(),
        };
        Profile {
            meta: Meta {
                line_bytes: LINE_BYTES,
                contexts: 64,
                coverage: Coverage::Samples,
                runs: vec![Run::default()],
                ..Meta::default()
            },
            sites: vec![site; sites as usize],
            counts: self.0.into_values().collect(),
            ..Profile::default()
        }
    }
}

fn shuffled(count: u32, seed: u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count).collect();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for last in (1..order.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        order.swap(last, (state % (last as u64 + 1)) as usize);
    }
    order
}
