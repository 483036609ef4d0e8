//! Agreement of rates with counted transfers: thins complete recordings to samples, estimates
//! transfers from those (`rates`), and compares them with the counted transfers.
//!
//!     cargo run --release -p relayout-contend --example sampled -- PROFILE...

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use relayout_contend::rates;
use relayout_profile::{AccessCoverage, CoherenceEvent, ConflictRow, Profile};
use relayout_statistics::random::{RandomSequence, SplitMix64};

#[path = "../tests/common/spearman.rs"]
mod spearman;

use spearman::spearman;

/// Accesses for each sample.
const PERIODS: [u64; 5] = [1, 100, 1_000, 10_000, 100_000];
/// Seeds per period.
const SEEDS: u64 = 5;
/// Lines among which ranks are compared: those with most counted transfers.
const LINES: usize = 100;

type ByLine = BTreeMap<(u16, u64), f64>;

fn main() {
    for path in std::env::args().skip(1) {
        match relayout_profile::read(Path::new(&path)) {
            Ok(profile) => compare(&path, profile),
            Err(error) => eprintln!("{path}: {error}"),
        }
    }
}

fn compare(path: &str, mut profile: Profile) {
    let line_bytes = u64::from(profile.meta.line_bytes);
    let counted = by_line(&profile.conflicts, line_bytes);
    let hitm: ByLine = lines_hitm(&profile);
    profile.conflicts.clear();
    profile.bursts.clear();
    profile.meta.coverage = AccessCoverage::Samples;
    println!(
        "{path}: {} lines with transfers, {:.0} transfers",
        counted.len(),
        sum(&counted)
    );
    println!(
        "  {:>7}  {:<22} {:>8} {:>7} {:>7} {:>8}",
        "period", "ranked by", "spearman", "top 10", "top 20", "total"
    );
    for period in PERIODS {
        let mut rows: BTreeMap<&str, Vec<[f64; 4]>> = BTreeMap::new();
        for seed in 0..if period == 1 { 1 } else { SEEDS } {
            let mut random =
                ThinningRandom(SplitMix64::new(seed.wrapping_mul(0x9e37_79b9) + period));
            let sampled = thin(&profile, period, &mut random);
            let estimated = by_line(&rates::estimate(&sampled), line_bytes);
            let thinned_hitm = thin_map(&hitm, period, &mut random);
            let accesses = accesses(&sampled, line_bytes);
            for (name, found) in [
                ("a rates", &estimated),
                ("b HITM samples", &thinned_hitm),
                ("c accesses", &accesses),
            ] {
                rows.entry(name).or_default().push(judge(&counted, found));
            }
        }
        for (name, all) in rows {
            let mean = |n: usize| all.iter().map(|row| row[n]).sum::<f64>() / all.len() as f64;
            println!(
                "  {period:>7}  {:<22} {:>8} {:>7.1} {:>7.1} {:>8}",
                &name[2..],
                format_known(mean(0), ""),
                mean(1),
                mean(2),
                format_known(mean(3), "x")
            );
        }
    }
}

/// "-" for what samples were too few for: where none is left, lines have no rank.
fn format_known(value: f64, unit: &str) -> String {
    if value.is_finite() {
        format!("{value:.2}{unit}")
    } else {
        "-".to_owned()
    }
}

/// Spearman's correlation over the first [`LINES`] counted, how many of the first 10 and 20 are
/// found, and the ratio of sums.
fn judge(counted: &ByLine, found: &ByLine) -> [f64; 4] {
    let first = |map: &ByLine, n: usize| -> BTreeSet<(u16, u64)> {
        order(map).into_iter().take(n).collect()
    };
    let both = |n: usize| first(counted, n).intersection(&first(found, n)).count() as f64;
    let lines: Vec<_> = order(counted).into_iter().take(LINES).collect();
    let value = |map: &ByLine, line| map.get(line).copied().unwrap_or(0.0);
    let pairs: Vec<_> = { lines.iter() }
        .map(|line| [value(counted, line), value(found, line)])
        .collect();
    [
        spearman(&pairs),
        both(10),
        both(20),
        sum(found) / sum(counted),
    ]
}

fn order(map: &ByLine) -> Vec<(u16, u64)> {
    let mut lines: Vec<_> = map
        .iter()
        .filter(|(_, n)| **n > 0.0)
        .map(|(line, n)| (*line, *n))
        .collect();
    lines.sort_by(|a, b| b.1.total_cmp(&a.1));
    lines.into_iter().map(|(line, _)| line).collect()
}

fn sum(map: &ByLine) -> f64 {
    map.values().sum()
}

fn by_line(conflicts: &[ConflictRow], line_bytes: u64) -> ByLine {
    let mut lines = ByLine::new();
    for row in conflicts
        .iter()
        .filter(|row| row.transfer != CoherenceEvent::Upgrade)
    {
        *lines
            .entry((row.run.0, (row.addr - row.addr % line_bytes).0))
            .or_default() += row.count as f64;
    }
    lines
}

fn lines_hitm(profile: &Profile) -> ByLine {
    let mut lines = ByLine::new();
    for row in &profile.lines {
        *lines.entry((row.run.0, row.line.0)).or_default() += row.read_transfers as f64;
    }
    lines
}

fn accesses(profile: &Profile, line_bytes: u64) -> ByLine {
    let mut lines = ByLine::new();
    for row in &profile.counts {
        *lines
            .entry((row.run.0, (row.addr - row.addr % line_bytes).0))
            .or_default() += row.count as f64;
    }
    lines
}

fn thin(profile: &Profile, period: u64, random: &mut ThinningRandom) -> Profile {
    let mut sampled = profile.clone();
    for row in &mut sampled.counts {
        row.count = random.samples(row.count, period) * period;
        row.silent = None;
    }
    sampled.counts.retain(|row| row.count > 0);
    sampled
}

fn thin_map(map: &ByLine, period: u64, random: &mut ThinningRandom) -> ByLine {
    map.iter()
        .map(|(line, n)| (*line, (random.samples(*n as u64, period) * period) as f64))
        .collect()
}

/// Draws of samples.
struct ThinningRandom(SplitMix64);

impl ThinningRandom {
    /// Draws the number of samples of `count` accesses with one sample per `period`, by Poisson's
    /// distribution.
    fn samples(&mut self, count: u64, period: u64) -> u64 {
        if period == 1 {
            return count;
        }
        let mean = count as f64 / period as f64;
        if mean > 50.0 {
            let normal = (-2.0 * self.0.unit().max(1e-300).ln()).sqrt()
                * (std::f64::consts::TAU * self.0.unit()).cos();
            return (mean + normal * mean.sqrt()).round().max(0.0) as u64;
        }
        let (limit, mut product, mut n) = ((-mean).exp(), self.0.unit(), 0);
        while product > limit {
            product *= self.0.unit();
            n += 1;
        }
        n
    }
}
