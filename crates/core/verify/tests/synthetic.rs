//! Error rates of verdicts and intervals, on synthetic values with a known change.

use crate::common::{Noise, assert_rate, experiment};
use proptest::prelude::*;
use relayout_statistics::random::SplitMix64;
use relayout_verify::judge::{JudgedMetric, JudgingRules, judge_series};
use relayout_verify::judged_change::{ChangeBasis, ChangeScale, ChangeVerdict};
use relayout_verify::metric::{BetterDirection, MetricDescription};
use relayout_verify::plan::ExperimentPlan;
use relayout_verify::runs::MetricSeries;

const KINDS: [Noise; 5] = [
    Noise::Normal,
    Noise::Skewed,
    Noise::HeavyTailed,
    Noise::TwoModes,
    Noise::Drifting,
];

/// Number of experiments for each tested rate.
const EXPERIMENTS: u64 = 150;

/// Counts the experiments that end with one of `verdicts`, at the default margin.
fn count_verdicts(noise: Noise, deviation: f64, change: f64, verdicts: &[ChangeVerdict]) -> usize {
    let rules = JudgingRules::default();
    let verdict = |seed| experiment(noise, deviation, change, 30, seed, &rules).verdict;
    (0..EXPERIMENTS)
        .filter(|&seed| verdicts.contains(&verdict(seed)))
        .count()
}

/// Identical sides are neither better nor worse with every kind of noise, also with several looks.
/// With little noise they are the same. Starts that scatter by 30% cannot exclude a change of 2%.
#[test]
fn nothing_is_found_where_there_is_nothing() {
    for noise in KINDS {
        for (deviation, expect) in [
            (0.003, &[ChangeVerdict::Same][..]),
            (0.03, &[ChangeVerdict::Same, ChangeVerdict::Unclear]),
            (0.3, &[ChangeVerdict::Unclear]),
        ] {
            let found = count_verdicts(noise, deviation, 1.0, expect);
            let name = format!("{noise:?} {deviation}: {expect:?}");
            assert_rate(&name, found, EXPERIMENTS, 0.97);
        }
    }
}

/// A change just beyond the margin is called the same in at most 5% of the experiments.
#[test]
fn changes_beyond_the_margin_are_not_the_same() {
    for noise in KINDS {
        let same = count_verdicts(noise, 0.02, 1.0201, &[ChangeVerdict::Same]);
        let name = format!("{noise:?}: not the same");
        assert_rate(&name, EXPERIMENTS as usize - same, EXPERIMENTS, 0.95);
    }
}

/// Each experiment has ten threads.
#[test]
fn nothing_is_found_among_many() {
    let outcome = |seed| {
        let mut random = SplitMix64::new(seed);
        let series: Vec<MetricSeries> = (0..10)
            .map(|_| crate::common::series(Noise::Normal, 0.01, 1.0, 30, &mut random))
            .collect();
        let plan = ExperimentPlan { pairs: 30, seed };
        judge_series(
            &series,
            ChangeBasis::Measured,
            plan,
            30,
            &JudgingRules::default(),
            true,
        )
        .verdict
    };
    let same = (0..200)
        .filter(|&seed| outcome(seed) == ChangeVerdict::Same)
        .count();
    assert_rate("same", same, 200, 0.95);
}

/// A change well above the noise is found, in the right direction.
#[test]
fn what_is_there_is_found() {
    for noise in KINDS {
        for (change, expect) in [(1.1, ChangeVerdict::Better), (0.9, ChangeVerdict::Worse)] {
            let verdict =
                |seed| experiment(noise, 0.04, change, 30, seed, &JudgingRules::default()).verdict;
            let found = (0..EXPERIMENTS)
                .filter(|&seed| verdict(seed) == expect)
                .count();
            assert_rate(&format!("{noise:?} {change}"), found, EXPERIMENTS, 0.97);
        }
    }
}

/// The interval contains the true change at least as often as its confidence says, also if the
/// experiment ends at the first look that decides.
#[test]
fn intervals_hold_the_truth() {
    for noise in KINDS {
        for pairs in [6, 10, 30] {
            for change in [1.0, 2.0] {
                let holds = |seed| {
                    let outcome =
                        experiment(noise, 0.03, change, pairs, seed, &JudgingRules::default());
                    let [low, high] = outcome.metrics[0].judged.interval.unwrap();
                    (low..=high).contains(&(change - 1.0))
                };
                let held = (0..EXPERIMENTS).filter(|&seed| holds(seed)).count();
                let name = format!("{noise:?}, {pairs} pairs, {change}");
                assert_rate(&name, held, EXPERIMENTS, 0.95);
            }
        }
    }
}

fn series(pairs: Vec<(f64, f64)>, better: BetterDirection) -> MetricSeries {
    MetricSeries {
        description: MetricDescription {
            name: "x".into(),
            better,
            unit: None,
            is_detail: false,
            basis: None,
        },
        pairs,
        unmatched: 0,
    }
}

fn judged(series: MetricSeries, seed: u64) -> JudgedMetric {
    judged_with(series, seed, &JudgingRules::default())
}

fn judged_with(series: MetricSeries, seed: u64, rules: &JudgingRules) -> JudgedMetric {
    let pairs = series.pairs.len();
    let plan = ExperimentPlan { pairs, seed };
    let mut outcome = judge_series(&[series], ChangeBasis::Measured, plan, pairs, rules, true);
    outcome.metrics.remove(0)
}

fn opposite(verdict: ChangeVerdict) -> ChangeVerdict {
    match verdict {
        ChangeVerdict::Better => ChangeVerdict::Worse,
        ChangeVerdict::Worse => ChangeVerdict::Better,
        verdict => verdict,
    }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs()))
}

/// Zeros, values of both signs, and the ends of what a number can be.
fn few_values() -> impl Strategy<Value = f64> {
    prop::sample::select(vec![
        0.0,
        -0.0,
        1.0,
        -3.0,
        2.5,
        1e300,
        -1e300,
        5e-324,
        1e308,
        -1e308,
        f64::MAX,
    ])
}

const ZERO_BEFORE: Option<&str> =
    Some("the median before is 0, so no margin, and no change but 0, has a percentage");

#[track_caller]
fn check_constant(
    before: f64,
    after: f64,
    verdict: ChangeVerdict,
    change: Option<f64>,
    why: Option<&str>,
) {
    let found = judged(series(vec![(before, after); 6], BetterDirection::Lower), 1);
    let name = format!("{before} against {after}: {found:?}");
    assert_eq!(found.judged.verdict, verdict, "{name}");
    assert_eq!(found.judged.change, change, "{name}");
    assert_eq!(
        found.judged.interval,
        change.map(|change| [change; 2]),
        "{name}"
    );
    assert_eq!(found.why_no_change, why, "{name}");
    assert_eq!(found.margin.is_none(), why.is_some(), "{name}");
}

/// A change is relative to the median before. If that is 0, only no change has a fraction, and the
/// verdict is still that of the values.
#[test]
fn zeros_and_signs() {
    use ChangeVerdict::{Better, Same, Worse};
    check_constant(0.0, 0.0, Same, Some(0.0), ZERO_BEFORE);
    check_constant(0.0, -0.0, Same, Some(0.0), ZERO_BEFORE);
    check_constant(0.0, -3.0, Better, None, ZERO_BEFORE);
    check_constant(0.0, 3.0, Worse, None, ZERO_BEFORE);
    check_constant(3.0, 0.0, Better, Some(-1.0), None);
    check_constant(-3.0, 0.0, Worse, Some(1.0), None);
    check_constant(-3.0, -3.0, Same, Some(0.0), None);
    check_constant(-2.0, 2.0, Worse, Some(2.0), None);
    check_constant(2.0, -2.0, Better, Some(-2.0), None);
    let why = Some("the values are too far apart for a percentage");
    check_constant(1e-300, 1e150, Worse, None, why);
}

/// Most values before are 0, so their median is 0, and no fall is one of 100%.
#[test]
fn zeros_for_the_most_part() {
    let pairs = [0.0, 0.0, 0.0, 0.0, 2.0, 4.0].map(|before| (before, 0.0));
    let found = judged(series(pairs.to_vec(), BetterDirection::Lower), 1);
    assert!(
        found.judged.change.is_none_or(|change| change == 0.0),
        "{found:?}"
    );
    assert_eq!(found.why_no_change, ZERO_BEFORE);
}

proptest! {
    /// Exchanging before and after inverts the ratios, and exchanges better and worse.
    #[test]
    fn exchanged(pairs in prop::collection::vec((1.0..3.0, 1.0..3.0), 2..20), seed: u64) {
        let there = judged(series(pairs.clone(), BetterDirection::Higher), seed);
        let exchanged = pairs.into_iter().map(|(a, b)| (b, a)).collect();
        let back = judged(series(exchanged, BetterDirection::Higher), seed);
        prop_assert!(close((1.0 + there.judged.change.unwrap()) * (1.0 + back.judged.change.unwrap()), 1.0));
        prop_assert_eq!(there.judged.verdict, opposite(back.judged.verdict));
        prop_assert!(close(there.margin.unwrap(), back.margin.unwrap()));
        prop_assert_eq!(there.before.median, back.after.median);
    }

    /// Exchanging before and after negates the differences.
    #[test]
    fn exchanged_differences(pairs in prop::collection::vec((-1.0..3.0, -1.0..3.0), 6..20), seed: u64) {
        let mut pairs: Vec<(f64, f64)> = pairs;
        pairs.push((0.0, 0.5));
        let there = judged(series(pairs.clone(), BetterDirection::Lower), seed);
        let exchanged = pairs.into_iter().map(|(a, b)| (b, a)).collect();
        let back = judged(series(exchanged, BetterDirection::Lower), seed);
        prop_assert_eq!(there.judged.scale, ChangeScale::Difference);
        prop_assert_eq!(there.judged.verdict, opposite(back.judged.verdict));
    }

    /// A metric that is never negative cannot fall by more than 100%.
    #[test]
    fn at_most_all_is_gone(before in prop::collection::vec(0.0..3.0, 6..20), seed: u64) {
        let pairs = before.into_iter().map(|before| (before, 0.0)).collect();
        let found = judged(series(pairs, BetterDirection::Lower), seed);
        prop_assert!(found.judged.change.is_none_or(|change| change >= -1.0));
        prop_assert!(found.judged.interval.is_none_or(|[low, high]| -1.0 <= low && low <= high));
    }

    /// Neither the unit nor the direction of a metric affects the size of the change.
    #[test]
    fn other_units(pairs in prop::collection::vec((1.0..3.0, 1.0..3.0), 2..20), seed: u64, scale in 1e-9..1e9) {
        let judged_metric = judged(series(pairs.clone(), BetterDirection::Higher), seed);
        let scaled = pairs.iter().map(|(a, b)| (scale * a, scale * b)).collect();
        let other = judged(series(scaled, BetterDirection::Higher), seed);
        prop_assert!(close(judged_metric.judged.change.unwrap(), other.judged.change.unwrap()));
        prop_assert_eq!(judged_metric.judged.verdict, other.judged.verdict);
        let lower = judged(series(pairs, BetterDirection::Lower), seed);
        prop_assert_eq!(judged_metric.judged.verdict, opposite(lower.judged.verdict));
    }

    /// The interval of the ratio alone decides: "same" within the margin, else "better" or "worse"
    /// without 1, else "unclear".
    #[test]
    fn interval_decides(
        ratios in prop::collection::vec(-1.0..1.0, 6..30),
        scatter in prop::sample::select(vec![0.0, 0.003, 0.03, 0.3]),
        change in prop::sample::select(vec![0.9, 0.99, 1.0, 1.01, 1.1]),
        margin in prop::sample::select(vec![0.005, 0.02, 0.1, 0.5]),
        seed: u64,
    ) {
        let after = |ratio: &f64| 1000.0 * change * f64::exp(scatter * ratio);
        let pairs = ratios.iter().map(|ratio| (1000.0, after(ratio))).collect();
        let rules = JudgingRules { margin };
        let found = judged_with(series(pairs, BetterDirection::Higher), seed, &rules);
        prop_assert!(close(found.margin.unwrap(), margin));
        let [low, high] = found.judged.interval.unwrap().map(|end| 1.0 + end);
        let reached = found.margin_reached.unwrap();
        prop_assert!(close(1.0 + reached, high.max(1.0 / low)));
        prop_assume!((reached - margin).abs() > 1e-9);
        let expect = if low > 1.0 / (1.0 + margin) && high < 1.0 + margin {
            ChangeVerdict::Same
        } else if low > 1.0 {
            ChangeVerdict::Better
        } else if high < 1.0 {
            ChangeVerdict::Worse
        } else {
            ChangeVerdict::Unclear
        };
        prop_assert_eq!(found.judged.verdict, expect);
        prop_assert_eq!(found.why.is_some(), expect == ChangeVerdict::Unclear);
    }

    /// Any values give an outcome, and a verdict always agrees with its interval.
    #[test]
    fn any_values(pairs in prop::collection::vec((any::<f64>(), any::<f64>()), 0..12), seed: u64) {
        let finite = |&(a, b): &(f64, f64)| a.is_finite() && b.is_finite();
        let pairs: Vec<_> = pairs.into_iter().filter(finite).collect();
        let found = judged(series(pairs, BetterDirection::Higher), seed);
        match (found.judged.verdict, found.judged.interval) {
            (ChangeVerdict::Better, Some([low, _])) => prop_assert!(low > 0.0),
            (ChangeVerdict::Worse, Some([_, high])) => prop_assert!(high < 0.0),
            (ChangeVerdict::Unclear, _) => prop_assert!(found.why.is_some()),
            _ => {}
        }
    }

    /// A fraction is finite, also in percent, and one that is missing has a reason. The verdict is
    /// that of the values' differences, so it does not depend on the median before.
    #[test]
    fn fractions_are_finite_or_have_a_reason(
        pairs in prop::collection::vec((few_values(), few_values()), 6..14),
        seed: u64,
    ) {
        let found = judged(series(pairs.clone(), BetterDirection::Higher), seed);
        let fractions = [found.judged.change, found.margin, found.margin_reached];
        let ends = found.judged.interval.into_iter().flatten();
        for fraction in fractions.into_iter().flatten().chain(ends) {
            prop_assert!((100.0 * fraction).is_finite(), "{found:?}");
            prop_assert!(fraction != 0.0 || fraction.is_sign_positive(), "{found:?}");
        }
        let is_missing = found.judged.change.is_none() || found.margin.is_none();
        prop_assert_eq!(is_missing, found.why_no_change.is_some(), "{:?}", found);
        if pairs.iter().all(|(before, after)| before == after) {
            prop_assert_eq!((found.judged.verdict, found.judged.change), (ChangeVerdict::Same, Some(0.0)));
        }
        prop_assert!(found.before.mean.is_finite() && found.before.median.is_finite());
    }
}
