//! Comparison of one metric's pairs: size of the change and its uncertainty.

use relayout_statistics::{LocationEstimate, estimate_location, median};

use super::{JudgedMetric, SideSummary, verdict_of_direction};
use crate::judged_change::{ChangeBasis, ChangeScale, ChangeVerdict, JudgedChange};
use crate::runs::MetricSeries;

/// Comparison of one metric, before the correction for the number of metrics.
///
/// Changes are in a symmetric form: logarithms of ratios, or differences. Exchanging before and
/// after negates every change and has no other effect.
pub(super) struct MetricComparison {
    before: SideSummary,
    after: SideSummary,
    scale: ChangeScale,
    /// True if no value is below 0. Such a metric cannot fall by more than 100%.
    is_never_negative: bool,
    /// Location of the pairs' changes, in the symmetric form.
    estimate: Option<LocationEstimate>,
    /// Half the width of the confidence interval, in the symmetric form.
    half_width: f64,
    /// Margin, in the symmetric form.
    margin: f64,
    pub p_value: f64,
    /// True if there are too few pairs to reach a p-value of alpha.
    is_too_few: bool,
}

/// Compares the two sides at the confidence 1 - `alpha`.
pub(super) fn compare_series(
    series: &MetricSeries,
    margin: f64,
    alpha: f64,
    seed: u64,
) -> MetricComparison {
    let (before, after): (Vec<f64>, Vec<f64>) = series.pairs.iter().copied().unzip();
    let scale = change_scale(series);
    let change = |&(before, after): &(f64, f64)| match scale {
        ChangeScale::Ratio => (after / before).ln(),
        ChangeScale::Points | ChangeScale::Difference => after - before,
    };
    let changes: Vec<f64> = series.pairs.iter().map(change).collect();
    // Exchanging before and after does not change this magnitude.
    let values: Vec<f64> = before
        .iter()
        .chain(&after)
        .map(|value| value.abs())
        .collect();
    let typical = median(&values).unwrap_or(0.0);
    let in_form = |fraction: f64| match scale {
        ChangeScale::Ratio => fraction.ln_1p(),
        ChangeScale::Points => 100.0 * fraction,
        ChangeScale::Difference => fraction * typical,
    };
    let estimate = estimate_location(&changes, seed);
    let half_width = estimate.map_or(f64::INFINITY, |found| found.half_width(alpha));
    MetricComparison {
        before: SideSummary::from_values(&before),
        after: SideSummary::from_values(&after),
        scale,
        is_never_negative: before.iter().chain(&after).all(|&value| value >= 0.0),
        estimate,
        half_width,
        margin: in_form(margin),
        p_value: estimate.map_or(1.0, |found| found.p_value()),
        is_too_few: estimate.is_none_or(|found| found.p_least() > alpha),
    }
}

fn change_scale(series: &MetricSeries) -> ChangeScale {
    if series.description.unit.as_deref() == Some("%") {
        return ChangeScale::Points;
    }
    let is_positive = |&(before, after): &(f64, f64)| {
        let ratio = after / before;
        before > 0.0 && after > 0.0 && ratio.is_finite() && ratio > 0.0
    };
    match series.pairs.iter().all(is_positive) {
        true => ChangeScale::Ratio,
        false => ChangeScale::Difference,
    }
}

impl MetricComparison {
    /// Adds the verdict. `rejected` is true if the change is significant after the correction for
    /// the number of metrics.
    pub(super) fn into_judged(
        self,
        series: &MetricSeries,
        basis: ChangeBasis,
        p_value: f64,
        rejected: bool,
    ) -> JudgedMetric {
        let interval = self.estimate.map(|found| {
            let location = found.location;
            [location - self.half_width, location + self.half_width]
        });
        let (verdict, why) = self.verdict(series, interval, rejected);
        let fraction = |change: f64| self.fraction(change);
        JudgedMetric {
            description: series.description.clone(),
            judged: JudgedChange {
                basis,
                before: self.before.median,
                after: self.after.median,
                scale: self.scale,
                change: self.estimate.and_then(|found| fraction(found.location)),
                interval: interval.and_then(|[low, high]| Some([fraction(low)?, fraction(high)?])),
                verdict,
            },
            before: self.before,
            after: self.after,
            p_value: self.estimate.map(|_| p_value),
            why_no_change: self.why_no_change(),
            margin: fraction(self.margin).filter(|_| !self.is_relative_to_zero()),
            margin_reached: interval.and_then(|[low, high]| fraction(high.max(-low))),
            why,
            unmatched: series.unmatched,
        }
    }

    fn verdict(
        &self,
        series: &MetricSeries,
        interval: Option<[f64; 2]>,
        rejected: bool,
    ) -> (ChangeVerdict, Option<&'static str>) {
        let unclear = |why| (ChangeVerdict::Unclear, Some(why));
        let (Some([low, high]), Some(found)) = (interval, self.estimate) else {
            return unclear("fewer than two pairs of starts");
        };
        if self.is_too_few {
            return unclear("too few pairs of starts: six at least are needed");
        }
        if !(low.is_finite() && high.is_finite()) {
            return unclear("the values are too large to compare");
        }
        let excludes_zero = low > 0.0 || high < 0.0;
        if low >= -self.margin && high <= self.margin {
            (ChangeVerdict::Same, None)
        } else if excludes_zero && rejected {
            (
                verdict_of_direction(series.description.better, found.location > 0.0),
                None,
            )
        } else if excludes_zero {
            unclear("among so many comparisons such a change is likely by chance")
        } else {
            unclear("too noisy: any change in the interval is possible")
        }
    }

    fn is_relative_to_zero(&self) -> bool {
        self.scale == ChangeScale::Difference && self.before.median == 0.0
    }

    /// Returns the reason why a change other than 0, and the margin, are no fraction.
    fn why_no_change(&self) -> Option<&'static str> {
        let change = self.estimate?.location;
        if self.is_relative_to_zero() {
            Some("the median before is 0, so no margin, and no change but 0, has a percentage")
        } else {
            let is_percentage = |value| self.fraction(value).is_some();
            (!is_percentage(change) || !is_percentage(self.margin))
                .then_some("the values are too far apart for a percentage")
        }
    }

    /// Converts a change from the symmetric form to a fraction; `None` if that is undefined, or too
    /// large for a percentage.
    fn fraction(&self, change: f64) -> Option<f64> {
        let fraction = match self.scale {
            ChangeScale::Ratio => change.exp_m1(),
            ChangeScale::Points => change / 100.0,
            // The pairs have different values before, so the change is relative to their median.
            // No change is a change of 0%, whatever the median.
            ChangeScale::Difference if change == 0.0 => 0.0,
            ChangeScale::Difference => change / self.before.median.abs(),
        };
        let is_shown = (100.0 * fraction).is_finite();
        let least = match self.is_never_negative && self.scale == ChangeScale::Difference {
            true => -1.0,
            false => f64::MIN,
        };
        // Adding 0 makes 0 of -0.
        is_shown.then(|| fraction.max(least) + 0.0)
    }
}
