//! Synthetic and recorded experiments.
#![allow(dead_code, reason = "each test file uses its part")]

use relayout_statistics::random::{RandomSequence, SplitMix64};
use relayout_verify::judge::{ExperimentOutcome, JudgingRules, judge_series};
use relayout_verify::judged_change::ChangeBasis;
use relayout_verify::metric::{BetterDirection, MetricDescription};
use relayout_verify::plan::ExperimentPlan;
use relayout_verify::runs::MetricSeries;

/// Distribution of the starts of one program. Each kind has about the requested deviation.
#[derive(Clone, Copy, Debug)]
pub enum Noise {
    Normal,
    /// Logarithm of an exponential distribution: most starts are fast, some are slow.
    Skewed,
    /// Student's t distribution with two degrees of freedom, which has no finite variance.
    HeavyTailed,
    /// Two modes: one start in three is slow.
    TwoModes,
    /// Random walk through the experiment, much wider than the noise of each start.
    Drifting,
}

impl Noise {
    /// Returns the logarithms of the values of `count` starts, in chronological order.
    fn starts(self, count: usize, random: &mut SplitMix64) -> Vec<f64> {
        let mut walk = 0.0;
        let draw = |_| match self {
            Self::Normal => normal(random),
            Self::Skewed => -(1.0 - random.unit()).ln(),
            Self::HeavyTailed => {
                let chi: f64 = (0..2).map(|_| normal(random).powi(2)).sum();
                normal(random) / (chi / 2.0).sqrt()
            }
            Self::TwoModes => {
                let slow = if random.unit() < 1.0 / 3.0 { 2.0 } else { 0.0 };
                slow + 0.2 * normal(random)
            }
            Self::Drifting => {
                walk += 0.5 * normal(random);
                walk + normal(random)
            }
        };
        (0..count).map(draw).collect()
    }
}

fn normal(random: &mut SplitMix64) -> f64 {
    let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.unit()).cos()
}

/// Returns pairs of a metric whose true ratio of after to before is `change`.
pub fn series(
    noise: Noise,
    deviation: f64,
    change: f64,
    pairs: usize,
    random: &mut SplitMix64,
) -> MetricSeries {
    let starts = noise.starts(2 * pairs, random);
    let value = |log: f64, change: f64| 1000.0 * change * (deviation * log).exp();
    let pairs = starts
        .chunks_exact(2)
        .map(|start| match random.bits() >> 63 {
            0 => (value(start[0], 1.0), value(start[1], change)),
            _ => (value(start[1], 1.0), value(start[0], change)),
        });
    MetricSeries {
        description: MetricDescription {
            name: "made up".into(),
            better: BetterDirection::Higher,
            unit: None,
            is_detail: false,
            basis: None,
        },
        pairs: pairs.collect(),
        unmatched: 0,
    }
}

/// Judges the pairs at each planned look, as the command does, and stops when no metric is
/// unclear.
pub fn judge_by_looks(series: &MetricSeries, seed: u64, rules: &JudgingRules) -> ExperimentOutcome {
    let plan = ExperimentPlan {
        pairs: series.pairs.len(),
        seed,
    };
    let mut outcomes = plan.looks().into_iter().map(|look| {
        let part = MetricSeries {
            pairs: series.pairs[..look].to_vec(),
            ..series.clone()
        };
        let is_last = look == plan.pairs;
        (
            is_last,
            judge_series(&[part], ChangeBasis::Measured, plan, look, rules, is_last),
        )
    });
    let found = outcomes.find(|(is_last, outcome)| *is_last || outcome.is_decided());
    found.expect("the last look is one").1
}

pub fn experiment(
    noise: Noise,
    deviation: f64,
    change: f64,
    pairs: usize,
    seed: u64,
    rules: &JudgingRules,
) -> ExperimentOutcome {
    let mut random = SplitMix64::new(seed);
    let series = series(noise, deviation, change, pairs, &mut random);
    judge_by_looks(&series, seed, rules)
}

/// Asserts that `found` is at least the fraction `share` of `total`, less three standard deviations
/// of the binomial distribution.
#[track_caller]
pub fn assert_rate(name: &str, found: usize, total: u64, share: f64) {
    let chance = 3.0 * (share * (1.0 - share) / total as f64).sqrt();
    let rate = found as f64 / total as f64;
    eprintln!("{name}: {rate:.3}");
    assert!(
        rate >= share - chance,
        "{name}: {found} of {total}, less than {share}"
    );
}
