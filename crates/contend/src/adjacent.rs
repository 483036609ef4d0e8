//! Adjacent lines: two lines of a pair, one used by some contexts and the other stored to by others.
//!
//! `mem_cgroup` had `vmstats_percpu`, which every CPU reads, and `vmstats`, which all store to, on the
//! two lines of an aligned pair: no line of them is contended for it, yet on processors that fetch pairs
//! each store disturbs the readers of the other line (-22.7 % in will-it-scale page_fault2).
//!
//! What is recorded are samples of pair transfers ([`PairRow`]), each of which stands for
//! [`Run::pair_period`](relayout_profile::Run::pair_period) of them. They cost something only on a
//! processor that fetches pairs, and how much is measured there: the coefficient, in transfers. So there
//! is a finding only where it is known and above 0, and its cost, the product, is an estimate that no
//! sum of transfers has in it.

use std::collections::{BTreeMap, BTreeSet};

use relayout_profile::{Access, PairRow, Profile};
use rustc_hash::FxHashSet;

use crate::find::{ByRun, Settings, Sources, other_name, own_name};
use crate::finding::{Adjacent, AdjacentPair, Finding, Kind, LinePairs, Member, Side, Subject};
use crate::group::{Places, object, pair_key};
use crate::identify::{Identify, Object, Place};
use crate::replay::Tally;

/// Samples of which a finding is made at least: with fewer, its size is hardly known.
const SAMPLES_MIN: u64 = 4;
/// Accesses for each that was looked at, where a run that has samples does not say.
const PERIOD: u64 = 1024;

/// A sample and what lies at its ends.
#[derive(Clone, Copy)]
struct Sample<'a> {
    row: &'a PairRow,
    here: &'a Place,
    there: &'a Place,
    /// Pair transfers that it stands for.
    pair_transfers: u64,
}

/// The findings of adjacent lines, with what they cost in each run, and what the profile says of pairs
/// in all.
pub(crate) fn find<I: Identify>(
    profile: &Profile,
    places: &Places,
    line_bytes: u32,
    settings: &Settings,
    sources: &mut Sources<'_, I>,
) -> (Vec<(Finding, ByRun)>, LinePairs) {
    let groups = group(profile, places, line_bytes.into());
    let coefficient = settings.pair_coefficient.filter(|c| c.is_finite());
    let mut all = LinePairs {
        recorded: profile
            .meta
            .runs
            .iter()
            .any(|run| run.pair_period.is_some())
            || !profile.pairs.is_empty(),
        coefficient,
        ..LinePairs::default()
    };
    for row in &profile.pairs {
        all.samples = all.samples.saturating_add(row.samples);
        let stands_for = row.samples.saturating_mul(period(profile, row));
        all.pair_transfers = all.pair_transfers.saturating_add(stands_for);
    }
    let candidates = groups
        .iter()
        .filter(|(_, samples)| count(samples) >= SAMPLES_MIN);
    all.candidates = candidates.clone().count() as u64;
    let Some(coefficient) = coefficient.filter(|&c| c > 0.0) else {
        return (Vec::new(), all);
    };
    let runs = profile.meta.runs.len();
    let findings = candidates
        .map(|((subject, offset), samples)| {
            let subject = (subject.clone(), *offset);
            let finding = finding(subject, line_bytes, coefficient, samples, sources);
            (finding, by_run(samples, coefficient, runs))
        })
        .collect();
    (findings, all)
}

/// By what the pair belongs to, and where it begins there.
type Groups<'a> = BTreeMap<(Subject, i64), Vec<Sample<'a>>>;

fn group<'a>(profile: &'a Profile, places: &'a Places, line_bytes: u64) -> Groups<'a> {
    let mut groups = Groups::new();
    for row in &profile.pairs {
        let here = places.get(row.run, row.addr, row.size);
        let there = places.get(row.run, row.other_addr, row.other_size);
        let pair = row.addr - row.addr % (2 * line_bytes);
        if let Some(key) = pair_key(row.run, pair, here) {
            groups.entry(key).or_default().push(Sample {
                row,
                here,
                there,
                pair_transfers: row.samples.saturating_mul(period(profile, row)),
            });
        }
    }
    groups
}

fn period(profile: &Profile, row: &PairRow) -> u64 {
    let run = profile.meta.runs.get(usize::from(row.run));
    run.and_then(|run| run.pair_period)
        .map_or(PERIOD, u64::from)
}

fn count(samples: &[Sample]) -> u64 {
    let each = samples.iter().map(|sample| sample.row.samples);
    each.fold(0, u64::saturating_add)
}

fn pair_transfers(samples: &[Sample]) -> u64 {
    let each = samples.iter().map(|sample| sample.pair_transfers);
    each.fold(0, u64::saturating_add)
}

fn by_run(samples: &[Sample], coefficient: f64, runs: usize) -> ByRun {
    let mut costs = vec![0.0; runs];
    for sample in samples {
        if let Some(cost) = costs.get_mut(usize::from(sample.row.run)) {
            *cost += sample.pair_transfers as f64 * coefficient;
        }
    }
    costs.into_iter().map(|cost| cost as u64).collect()
}

fn finding<I: Identify>(
    (subject, line_offset): (Subject, i64),
    line_bytes: u32,
    coefficient: f64,
    samples: &[Sample],
    sources: &mut Sources<'_, I>,
) -> Finding {
    let (sampled, stands_for) = (count(samples), pair_transfers(samples));
    let each = stands_for as f64 / sampled.max(1) as f64;
    let adjacent = Adjacent {
        samples: sampled,
        pair_transfers: stands_for,
        interval: interval(sampled).map(|bound| (bound * each) as u64),
        coefficient,
        cost_transfers: coefficient * stands_for as f64,
        pairs: pairs(samples, sources),
    };
    let objects: FxHashSet<_> = samples
        .iter()
        .filter_map(|sample| Some((sample.row.run, object(sample.here)?.base)))
        .collect();
    let contexts: BTreeSet<u16> = samples
        .iter()
        .flat_map(|sample| [sample.row.context, sample.row.other_context])
        .collect();
    Finding {
        rank: 0,
        kind: Kind::AdjacentLine,
        types_path: types_path(samples),
        subject,
        line_offset,
        places: Vec::new(),
        line_bytes,
        tally: Tally::default(),
        share: 0.0,
        adjacent: Some(adjacent),
        objects: objects.len() as u64,
        contexts: contexts.len() as u32,
        stability: None,
        estimated: false,
        hitm: None,
        members: members(samples),
        sites: Vec::new(),
        pairs: Vec::new(),
        remote_reads: Vec::new(),
        neighbours: BTreeMap::new(),
        origins: BTreeMap::new(),
        kinds_by_run: BTreeMap::new(),
        remedies: Vec::new(),
    }
}

/// 95 % interval of the mean of a Poisson distribution that gave `samples`, at least 1: Byar's
/// approximation of the exact bounds (Breslow and Day, *Statistical methods in cancer research* II, 1987).
fn interval(samples: u64) -> [f64; 2] {
    const Z: f64 = 1.96;
    let bound = |n: f64, z: f64| n * (1.0 - 1.0 / (9.0 * n) + z / (3.0 * n.sqrt())).powi(3);
    let n = samples.max(1) as f64;
    [bound(n, -Z), bound(n + 1.0, Z)]
}

/// The types down to the member that is disturbed most.
fn types_path(samples: &[Sample]) -> Vec<String> {
    let mut most: BTreeMap<&[String], u64> = BTreeMap::new();
    for sample in samples {
        if let Place::Member { member, .. } = sample.here {
            *most.entry(&member.types_path).or_default() += sample.row.samples;
        }
    }
    // The first of equals in order of names.
    let path = most.into_iter().rev().max_by_key(|(_, samples)| *samples);
    path.map(|(path, _)| path.to_vec()).unwrap_or_default()
}

/// Contexts that used and that stored to a member.
#[derive(Default)]
struct Users {
    all: BTreeSet<u16>,
    writers: BTreeSet<u16>,
}

/// The members at both ends, as far as they are of the same object. How often each was read and written
/// was not counted, only how often they met.
fn members(samples: &[Sample]) -> Vec<Member> {
    let mut users: BTreeMap<(i64, u64, String), Users> = BTreeMap::new();
    for sample in samples {
        let row = sample.row;
        let home = object(sample.here);
        let ends = [
            (sample.here, row.addr, row.context, row.access),
            (
                sample.there,
                row.other_addr,
                row.other_context,
                row.other_access,
            ),
        ];
        for (place, addr, context, access) in ends {
            let Some(key) = home.and_then(|home| member_key(home, place, addr)) else {
                continue;
            };
            let users = users.entry(key).or_default();
            users.all.insert(context);
            if access != Access::Read {
                users.writers.insert(context);
            }
        }
    }
    let member = |((offset, size, name), users): ((i64, u64, String), Users)| Member {
        name,
        offset,
        size,
        reads: 0,
        writes: 0,
        silent_writes: None,
        contexts: users.all.len() as u32,
        writers: users.writers.len() as u32,
        transfers: 0,
    };
    users.into_iter().map(member).collect()
}

/// Offset, size and name of what `place` is in the object `home`; `None` where it is in another.
fn member_key(home: &Object, place: &Place, addr: u64) -> Option<(i64, u64, String)> {
    match place {
        Place::Member { object, .. } if object != home => None,
        Place::Member { member, .. } if member.path.is_empty() => {
            Some((addr.wrapping_sub(home.base) as i64, 1, String::new()))
        }
        Place::Member { member, .. } => {
            Some((member.offset as i64, member.size, member.path.clone()))
        }
        Place::Scalar(object) => {
            let offset = object.base.wrapping_sub(home.base) as i64;
            Some((
                offset,
                object.bytes,
                object.variable.clone().unwrap_or_default(),
            ))
        }
        Place::Unresolved(_) => None,
    }
}

fn pairs<I: Identify>(samples: &[Sample], sources: &mut Sources<'_, I>) -> Vec<AdjacentPair> {
    let mut sums: BTreeMap<(Side, Side), (u64, u64)> = BTreeMap::new();
    for sample in samples {
        let row = sample.row;
        let here = Side {
            member: own_name(sample.here),
            access: row.access,
            source: sources.get(row.site),
        };
        let there = Side {
            member: other_name(sample.here, sample.there),
            access: row.other_access,
            source: sources.get(row.other_site),
        };
        let sum = sums.entry((here, there)).or_default();
        sum.0 += row.samples;
        sum.1 += sample.pair_transfers;
    }
    let pair = |((here, there), (samples, pair_transfers))| AdjacentPair {
        here,
        there,
        samples,
        pair_transfers,
    };
    let mut pairs: Vec<AdjacentPair> = sums.into_iter().map(pair).collect();
    pairs.sort_by_key(|pair| std::cmp::Reverse(pair.samples));
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_the_exact_ones() {
        // Garwood's exact bounds: 4: 1.09 to 10.24; 100: 81.4 to 121.6.
        let close = |samples, expect: [f64; 2]| {
            let found = interval(samples);
            let off = (0..2).map(|n| (found[n] / expect[n] - 1.0).abs());
            assert!(off.fold(0.0, f64::max) < 0.02, "{found:?} for {expect:?}");
        };
        close(4, [1.09, 10.24]);
        close(100, [81.4, 121.6]);
    }
}
