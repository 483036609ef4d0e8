//! Ranks by rates beside ranks by replay, on the same accesses.

use std::collections::BTreeMap;
use std::fmt;

use relayout_contend::rates;
use relayout_contend::{Extent, ObjectTrace, Placement, Recorded, Replay, TraceIndex};
use relayout_profile::{
    BurstRow, CountRow, Coverage, Meta, Profile, RegionRow, Run, Site, Transfer,
};

#[path = "spearman.rs"]
mod spearman;

use spearman::spearman;

const LINE_BYTES: u32 = 64;
/// Where an object is put to be counted.
const BASE: u64 = 1 << 20;

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
pub fn by_block(profile: &Profile, bytes: u32, least: f64) -> Agreement {
    let index = TraceIndex::new(profile);
    let pairs = blocks(profile, bytes).into_iter().map(|extent| {
        let traces = index.traces(extent);
        both(&traces, 0, &Recorded)
    });
    let pairs: Vec<[f64; 2]> = pairs.filter(|[replayed, _]| *replayed >= least).collect();
    agreement(&pairs)
}

/// The median over the `objects` blocks of 256 bytes with most transfers, of the agreement over `layouts`
/// random orders of their words.
pub fn by_layout(profile: &Profile, objects: usize, layouts: u64, least: f64) -> Agreement {
    let index = TraceIndex::new(profile);
    let mut ranked: Vec<(f64, Vec<ObjectTrace>)> = blocks(profile, 256)
        .into_iter()
        .map(|extent| index.traces(extent))
        .map(|traces| (both(&traces, 0, &Recorded)[0], traces))
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
                    both(traces, 0, &|offset: u32| {
                        order[offset as usize / 8 % 32] * 8 + offset % 8
                    })
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

/// Transfers as replayed, and as expected from counts.
fn both(traces: &[ObjectTrace], phase: u32, placement: &impl Placement) -> [f64; 2] {
    let mut sums = [0.0; 2];
    for trace in traces {
        let replayed = Replay::new(trace)
            .tally(phase, placement, LINE_BYTES)
            .transfers();
        let expected = rates::estimate(&counted(trace, placement));
        let expected = expected
            .iter()
            .filter(|row| row.transfer != Transfer::Upgrade);
        sums[0] += replayed as f64;
        sums[1] += expected.map(|row| row.count as f64).sum::<f64>();
    }
    sums
}

/// The accesses of a trace without their order.
fn counted(trace: &ObjectTrace, placement: &impl Placement) -> Profile {
    let mut counts: BTreeMap<(u64, u8, u16, u32, u8), CountRow> = BTreeMap::new();
    for one in &trace.accesses {
        let addr = BASE + u64::from(placement.place(one.offset));
        let key = (addr, one.size, one.context, one.site, one.access as u8);
        let row = counts.entry(key).or_insert(CountRow {
            run: 0,
            addr,
            size: one.size,
            context: one.context,
            site: one.site,
            access: one.access,
            count: 0,
            silent: None,
        });
        row.count += 1;
    }
    let sites = trace
        .accesses
        .iter()
        .map(|one| one.site + 1)
        .max()
        .unwrap_or(0);
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
        counts: counts.into_values().collect(),
        ..Profile::default()
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

fn agreement(pairs: &[[f64; 2]]) -> Agreement {
    Agreement {
        spearman: spearman(pairs),
        of: pairs.len(),
    }
}
