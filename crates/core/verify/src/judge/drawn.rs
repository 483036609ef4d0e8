//! Judgement of rates on a machine in simulated time, whose rules each pair draws anew.
//!
//! A rule that nobody measured is no noise: more pairs do not make its effect smaller. So the interval is that of the
//! draws, and not of their mean, and a change is told only where all of them agree.

use relayout_statistics::{DrawnRatio, RatePair, RatioVerdict};

use super::{JudgedMetric, SideSummary, verdict_of_direction};
use crate::judged_change::{ChangeBasis, ChangeScale, ChangeVerdict, JudgedChange};
use crate::runs::MetricSeries;

/// Fewest draws that tell a change. That so many agree by chance has a probability of 2/2^6, as for other metrics.
const DRAWS_MIN: usize = 6;

/// Judges a metric whose pairs are draws of a machine's rules. `margin` is a fraction.
pub(super) fn judge_drawn(series: &MetricSeries, margin: f64) -> JudgedMetric {
    let (before, after): (Vec<f64>, Vec<f64>) = series.pairs.iter().copied().unzip();
    let ratio = drawn_ratio(series);
    let interval = ratio.interval().map(|(low, high)| [low - 1.0, high - 1.0]);
    let (verdict, why) = verdict(series, &ratio, margin);
    let [before, after] = [before, after].map(|values| SideSummary::from_values(&values));
    JudgedMetric {
        description: series.description.clone(),
        judged: JudgedChange {
            basis: ChangeBasis::Simulated,
            before: before.median,
            after: after.median,
            scale: ChangeScale::Ratio,
            change: ratio.expected.map(|ratio| ratio - 1.0),
            interval,
            verdict,
        },
        before,
        after,
        p_value: None,
        why_no_change: None,
        margin: Some(margin),
        margin_reached: interval.map(|[low, high]| (1.0 / (1.0 + low)).max(1.0 + high) - 1.0),
        why,
        unmatched: series.unmatched,
    }
}

fn drawn_ratio(series: &MetricSeries) -> DrawnRatio {
    let pair = |&(before, after): &(f64, f64)| RatePair {
        today: Some(before),
        then: Some(after),
    };
    DrawnRatio::from_draws(&series.pairs.iter().map(pair).collect::<Vec<_>>())
}

fn verdict(
    series: &MetricSeries,
    ratio: &DrawnRatio,
    margin: f64,
) -> (ChangeVerdict, Option<&'static str>) {
    let unclear = |why| (ChangeVerdict::Unclear, Some(why));
    let Some((low, high)) = ratio.interval() else {
        return unclear("nothing happened in a window");
    };
    if ratio.drawn.len() < DRAWS_MIN {
        return unclear("too few pairs of boots: six at least are needed");
    }
    if low >= 1.0 / (1.0 + margin) && high <= 1.0 + margin {
        return (ChangeVerdict::Same, None);
    }
    let of_direction = |is_up| (verdict_of_direction(series.description.better, is_up), None);
    match ratio.verdict() {
        RatioVerdict::Better => of_direction(true),
        RatioVerdict::Worse => of_direction(false),
        RatioVerdict::Same | RatioVerdict::Unclear => {
            unclear("draws of the machine's rules disagree")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::{BetterDirection, MetricDescription};

    fn check(ratios: &[f64], verdict: ChangeVerdict) -> JudgedChange {
        let series = MetricSeries {
            description: MetricDescription {
                name: "operations".to_owned(),
                better: BetterDirection::Higher,
                unit: Some("1/s".to_owned()),
                is_detail: false,
                basis: Some(ChangeBasis::Simulated),
            },
            pairs: ratios.iter().map(|ratio| (2e6, ratio * 2e6)).collect(),
            unmatched: 0,
        };
        let judged = judge_drawn(&series, 0.02).judged;
        assert_eq!(judged.verdict, verdict, "{ratios:?}");
        judged
    }

    #[test]
    fn all_draws_agree_or_the_verdict_is_unclear() {
        let judged = check(&[1.1, 1.2, 1.3, 1.2, 1.05, 1.2], ChangeVerdict::Better);
        let near = |found: f64, expect: f64| assert!((found - expect).abs() < 1e-9, "{found}");
        near(judged.change.unwrap(), 0.2);
        near(judged.interval.unwrap()[0], 0.05);
        near(judged.interval.unwrap()[1], 0.3);
        check(&[0.9, 0.8, 0.97, 0.9, 0.9, 0.95], ChangeVerdict::Worse);
        check(&[1.01, 1.0, 0.99, 1.0, 1.0, 1.0], ChangeVerdict::Same);
        check(&[1.3, 1.3, 0.9, 1.3, 1.3, 1.3], ChangeVerdict::Unclear);
        // Five that agree are too few.
        check(&[1.3; 5], ChangeVerdict::Unclear);
        check(&[], ChangeVerdict::Unclear);
        check(&[f64::NAN; 6], ChangeVerdict::Unclear);
    }
}
