//! Adjacent lines: two lines of an aligned pair, one used by some contexts and the other stored to
//! by others.
//!
//! `mem_cgroup` had `vmstats_percpu`, which every CPU reads, and `vmstats`, which all store to, on
//! the two lines of a pair. Neither line is contended, yet on processors that fetch pairs of lines
//! each store disturbs the readers of the other line (-22.7% in will-it-scale page_fault2).
//!
//! The profile has samples of pair transfers ([`PairRow`]), each of which stands for as many as
//! its run's [`pair_period`](relayout_profile::RecordedRun::pair_period). They cost something only
//! on a processor that fetches pairs. The coefficient is their cost in transfers, measured on that
//! machine. A finding is made only where the coefficient is known and above 0. Its cost, the
//! product, is an estimate, and no sum of transfers includes it.

use std::collections::{BTreeMap, BTreeSet};

use relayout_profile::{AccessKind, ContextId, PairRow, Profile};
use rustc_hash::FxHashMap;

use crate::finding::{
    AccessSide, AdjacentLines, AdjacentPair, Finding, FindingKind, FindingMember, FindingSubject,
    LinePairs,
};
use crate::group::{TargetCache, object_at, pair_key};
use crate::identify::{AccessTarget, AddressNamer, TargetObject};
use crate::names::{MemberKey, access_sides, member_key, types_path};
use crate::ranks::{RecordingIndex, RunWeights};
use crate::replay::CoherenceTally;
use crate::source_cache::SourceCache;
use crate::type_confidence::TypeConfidence;

/// Minimum number of samples of a finding; with fewer, its size is too uncertain.
const SAMPLES_MIN: u64 = 4;
/// Accesses per sample, where a run that has samples does not tell.
const PERIOD: u64 = 1024;

/// A sample with the targets at both ends.
#[derive(Clone, Copy)]
struct ResolvedPairSample<'a> {
    row: &'a PairRow,
    here: &'a AccessTarget,
    there: &'a AccessTarget,
    /// Pair transfers that the sample stands for.
    pair_transfers: u64,
}

/// Returns the findings of adjacent lines with their costs in each run, and the profile's totals of
/// line pairs.
pub(crate) fn find_adjacent<I: AddressNamer>(
    profile: &Profile,
    places: &TargetCache,
    line_bytes: u32,
    coefficient: Option<f64>,
    recordings: &RecordingIndex,
    sources: &mut SourceCache<'_, I>,
) -> (Vec<(Finding, RunWeights)>, LinePairs) {
    let groups = group_samples(profile, places, line_bytes.into());
    let coefficient = coefficient.filter(|c| c.is_finite());
    let mut line_pairs = LinePairs {
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
        line_pairs.samples = line_pairs.samples.saturating_add(row.samples);
        let stands_for = row.samples.saturating_mul(period(profile, row));
        line_pairs.pair_transfers = line_pairs.pair_transfers.saturating_add(stands_for);
    }
    let candidates = groups
        .iter()
        .filter(|(_, samples)| sample_count(samples) >= SAMPLES_MIN);
    line_pairs.candidates = candidates.clone().count() as u64;
    let Some(coefficient) = coefficient.filter(|&c| c > 0.0) else {
        return (Vec::new(), line_pairs);
    };
    let findings = candidates
        .map(|((subject, offset), samples)| {
            let subject = (subject.clone(), *offset);
            let finding = adjacent_finding(subject, line_bytes, coefficient, samples, sources);
            (finding, costs_by_run(samples, coefficient, recordings))
        })
        .collect();
    (findings, line_pairs)
}

/// Samples by the subject of the pair, and the pair's offset in it.
type PairGroups<'a> = BTreeMap<(FindingSubject, i64), Vec<ResolvedPairSample<'a>>>;

fn group_samples<'a>(
    profile: &'a Profile,
    places: &'a TargetCache,
    line_bytes: u64,
) -> PairGroups<'a> {
    let mut groups = PairGroups::new();
    for row in &profile.pairs {
        let here = places.get(row.run, row.addr, row.size);
        let there = places.get(row.run, row.other_addr, row.other_size);
        let pair = row.addr - row.addr % (2 * line_bytes);
        if let Some(key) = pair_key(row.run, pair, here) {
            groups.entry(key).or_default().push(ResolvedPairSample {
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

fn sample_count(samples: &[ResolvedPairSample]) -> u64 {
    let each = samples.iter().map(|sample| sample.row.samples);
    each.fold(0, u64::saturating_add)
}

fn represented_transfers(samples: &[ResolvedPairSample]) -> u64 {
    let each = samples.iter().map(|sample| sample.pair_transfers);
    each.fold(0, u64::saturating_add)
}

fn costs_by_run(
    samples: &[ResolvedPairSample],
    coefficient: f64,
    recordings: &RecordingIndex,
) -> RunWeights {
    let mut costs = vec![0.0; recordings.count];
    for sample in samples {
        if let Some(recording) = recordings.recording_of(sample.row.run) {
            costs[recording] += sample.pair_transfers as f64 * coefficient;
        }
    }
    RunWeights::of_adjacent(costs.into_iter().map(|cost| cost as u64).collect())
}

fn adjacent_finding<I: AddressNamer>(
    (subject, line_offset): (FindingSubject, i64),
    line_bytes: u32,
    coefficient: f64,
    samples: &[ResolvedPairSample],
    sources: &mut SourceCache<'_, I>,
) -> Finding {
    let (sampled, stands_for) = (sample_count(samples), represented_transfers(samples));
    let each = stands_for as f64 / sampled.max(1) as f64;
    let adjacent = AdjacentLines {
        samples: sampled,
        pair_transfers: stands_for,
        interval: poisson_interval(sampled).map(|bound| (bound * each) as u64),
        coefficient,
        cost_transfers: coefficient * stands_for as f64,
        pairs: adjacent_pairs(samples, sources),
    };
    let objects: FxHashMap<_, u8> = samples
        .iter()
        .filter_map(|sample| {
            let object = object_at(sample.here)?;
            Some(((sample.row.run, object.base), object.type_percent))
        })
        .collect();
    let contexts: BTreeSet<ContextId> = samples
        .iter()
        .flat_map(|sample| [sample.row.context, sample.row.other_context])
        .collect();
    Finding {
        rank: 0,
        kind: FindingKind::AdjacentLine,
        types_path: types_path({ samples.iter() }.map(|sample| (sample.here, sample.row.samples))),
        subject,
        line_offset,
        places: Vec::new(),
        line_bytes,
        tally: CoherenceTally::default(),
        first_reads: Some(0),
        wait_ps: None,
        waited_lines: Vec::new(),
        share: 0.0,
        adjacent: Some(adjacent),
        objects: objects.len() as u64,
        type_confidence: TypeConfidence::from_percents(objects.into_values()),
        rival_type: None,
        contexts: contexts.len() as u32,
        stability: None,
        transfers_range: None,
        estimated: false,
        hitm: None,
        members: disturbed_members(samples),
        sites: Vec::new(),
        pairs: Vec::new(),
        remote_reads: Vec::new(),
        neighbours: BTreeMap::new(),
        origins: BTreeMap::new(),
        elements: None,
        kinds_by_run: BTreeMap::new(),
        remedies: Vec::new(),
    }
}

/// Returns the 95% interval of the mean of a Poisson distribution that gave `samples`, at least 1:
/// Byar's approximation of the exact bounds (Breslow and Day, *Statistical methods in cancer
/// research* II, 1987).
fn poisson_interval(samples: u64) -> [f64; 2] {
    const Z: f64 = 1.96;
    let bound = |n: f64, z: f64| n * (1.0 - 1.0 / (9.0 * n) + z / (3.0 * n.sqrt())).powi(3);
    let n = samples.max(1) as f64;
    [bound(n, -Z), bound(n + 1.0, Z)]
}

/// Contexts that used a member, and those that stored to it.
#[derive(Default)]
struct PairUsers {
    contexts: BTreeSet<ContextId>,
    writers: BTreeSet<ContextId>,
}

/// Returns the members at both ends, if they are of the same object. The profile counts only how
/// often they met, not their loads and stores.
fn disturbed_members(samples: &[ResolvedPairSample]) -> Vec<FindingMember> {
    let mut users: BTreeMap<MemberKey, PairUsers> = BTreeMap::new();
    for sample in samples {
        let row = sample.row;
        let home = object_at(sample.here);
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
            let key = home.and_then(|home| {
                let is_elsewhere =
                    matches!(place, AccessTarget::Member { object, .. } if object != home);
                let offset = |variable: &TargetObject| variable.base.wrapping_sub(home.base) as i64;
                member_key(place, addr, offset).filter(|_| !is_elsewhere)
            });
            let Some(key) = key else {
                continue;
            };
            let users = users.entry(key).or_default();
            users.contexts.insert(context);
            if access != AccessKind::Read {
                users.writers.insert(context);
            }
        }
    }
    let member = |((offset, size, path), users): (MemberKey, PairUsers)| FindingMember {
        name: path.clone(),
        path,
        offset,
        size,
        reads: 0,
        writes: 0,
        silent_writes: None,
        context_ids: users.contexts.into_iter().collect(),
        writer_ids: users.writers.into_iter().collect(),
        transfers: 0,
    };
    users.into_iter().map(member).collect()
}

fn adjacent_pairs<I: AddressNamer>(
    samples: &[ResolvedPairSample],
    sources: &mut SourceCache<'_, I>,
) -> Vec<AdjacentPair> {
    let mut sums: BTreeMap<(AccessSide, AccessSide), (u64, u64)> = BTreeMap::new();
    for sample in samples {
        let row = sample.row;
        let sides = [(row.site, row.access), (row.other_site, row.other_access)];
        let sum = sums
            .entry(access_sides([sample.here, sample.there], sides, sources))
            .or_default();
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
            let found = poisson_interval(samples);
            let off = (0..2).map(|n| (found[n] / expect[n] - 1.0).abs());
            assert!(off.fold(0.0, f64::max) < 0.02, "{found:?} for {expect:?}");
        };
        close(4, [1.09, 10.24]);
        close(100, [81.4, 121.6]);
    }
}
