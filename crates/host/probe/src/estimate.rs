//! Estimates from windows of measurement: medians, their intervals, and the reasons for having
//! none.
//!
//! Values in, values out; the same samples give the same numbers.

use relayout_statistics::random::SplitMix64;
use relayout_statistics::{SortedSample, resample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Resamples of a bootstrap interval.
const RESAMPLES: usize = 2000;
/// Fewer rounds than this say nothing.
pub const ROUNDS_MIN: usize = 8;
/// Sharing a line must cost this much more than not sharing one, as a fraction, to be a scale.
const SCALE_MIN: f64 = 0.1;
/// A coefficient below this is taken for none: two arrangements that do the same differ by about as
/// much, in where their words are and how the loops happen to interleave.
pub const COEFFICIENT_MIN: f64 = 0.02;
/// The median absolute deviation of a normal distribution, times this, is its standard deviation.
const MAD_TO_DEVIATION: f64 = 1.4826;

/// A value with its 95 % interval. All three are null if the value could not be measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeEstimate {
    /// The value.
    pub value: Option<f64>,
    /// Lower end of the interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// Why there is no estimate.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum TooNoisy {
    /// Too few windows were left.
    #[error(
        "too noisy: the machine ran all threads without a break in only {kept} of {taken} rounds \
         ({ROUNDS_MIN} are needed)"
    )]
    TooFewRounds {
        /// Rounds that can be used.
        kept: usize,
        /// All rounds.
        taken: usize,
    },
    /// The interval is too wide.
    #[error("too noisy: between {low:.2} and {high:.2}")]
    WideInterval {
        /// Its lower end.
        low: f64,
        /// Its upper end.
        high: f64,
    },
    /// Sharing a line costs no more than not sharing one.
    #[error(
        "sharing a line costs {same:.1} ns, not sharing it {apart:.1} ns: nothing to compare with"
    )]
    NoScale {
        /// Cost on one line.
        same: f64,
        /// Cost on lines far apart.
        apart: f64,
    },
}

/// Costs of the same work in several arrangements, from one round.
///
/// `None` where the machine did not run us in a window of the round.
pub type RoundCosts<const N: usize> = Option<[f64; N]>;

impl ProbeEstimate {
    /// `value`, between `low` and `high`.
    pub fn new(value: f64, low: f64, high: f64) -> Self {
        Self {
            value: Some(value),
            low: Some(low),
            high: Some(high),
        }
    }
}

/// Returns the median cost of one arrangement.
///
/// # Errors
/// Too few rounds, or an interval whose ends are more than a factor of two apart.
pub fn cost(rounds: &[RoundCosts<1>]) -> Result<ProbeEstimate, TooNoisy> {
    require_narrow(estimate(rounds, |[cost]| cost)?)
}

/// Median of the difference of two arrangements' costs, the first less the second.
///
/// # Errors
/// Those of [`cost`].
pub fn difference(rounds: &[RoundCosts<2>]) -> Result<ProbeEstimate, TooNoisy> {
    require_narrow(estimate(rounds, |[a, b]| a - b)?)
}

/// Median of the same difference, which may be next to nothing and have any interval.
///
/// # Errors
/// Too few rounds.
pub fn any_difference(rounds: &[RoundCosts<2>]) -> Result<ProbeEstimate, TooNoisy> {
    estimate(rounds, |[a, b]| a - b)
}

/// Median of the ratio of two arrangements' costs, the first over the second.
///
/// # Errors
/// Those of [`cost`].
pub fn ratio(rounds: &[RoundCosts<2>]) -> Result<ProbeEstimate, TooNoisy> {
    require_narrow(estimate(rounds, |[a, b]| a / b)?)
}

/// Median of how far `beside` lies on the way from `apart` to `same`, from rounds of
/// `[same, beside, apart]`. The value is 0 unless the whole interval is above [`COEFFICIENT_MIN`].
///
/// The distance between `same` and `apart` is taken from all rounds, so that a round in which it is
/// small by chance does not count for more than others.
///
/// # Errors
/// Too few rounds; an interval longer than a half; or `same` that does not cost at least a tenth
/// more than `apart`, so that there is nothing to compare with.
pub fn coefficient(rounds: &[RoundCosts<3>]) -> Result<ProbeEstimate, TooNoisy> {
    let kept = usable_rounds(rounds)?;
    let middle =
        |cost_of: fn(&[f64; 3]) -> f64| median(&kept.iter().map(cost_of).collect::<Vec<_>>());
    let (same, apart) = (middle(|costs| costs[0]), middle(|costs| costs[2]));
    let scale = same - apart;
    if scale <= SCALE_MIN * apart {
        return Err(TooNoisy::NoScale { same, apart });
    }
    let fraction = estimate(rounds, |[_, beside, apart]| (beside - apart) / scale)?;
    match fraction {
        ProbeEstimate {
            value: Some(value),
            low: Some(low),
            high: Some(high),
        } if high - low <= 0.5 => {
            let value = if low > COEFFICIENT_MIN { value } else { 0.0 };
            Ok(ProbeEstimate::new(value, low, high))
        }
        other => Err(wide_error(other)),
    }
}

/// The standard deviation of the costs over their median, estimated by the median absolute
/// deviation, which windows that went wrong do not change. `None` for less than [`ROUNDS_MIN`].
pub fn spread(costs: &[f64]) -> Option<f64> {
    if costs.len() < ROUNDS_MIN {
        return None;
    }
    let middle = median(costs);
    let deviations: Vec<f64> = costs.iter().map(|cost| (cost - middle).abs()).collect();
    Some(MAD_TO_DEVIATION * median(&deviations) / middle).filter(|spread| spread.is_finite())
}

/// Median of `values`; NaN for none.
fn median(values: &[f64]) -> f64 {
    relayout_statistics::median(values).unwrap_or(f64::NAN)
}

fn usable_rounds<const N: usize>(rounds: &[RoundCosts<N>]) -> Result<Vec<[f64; N]>, TooNoisy> {
    let is_usable = |costs: &[f64; N]| costs.iter().all(|cost| cost.is_finite() && *cost > 0.0);
    let kept: Vec<[f64; N]> = rounds.iter().flatten().copied().filter(is_usable).collect();
    if kept.len() < ROUNDS_MIN {
        return Err(TooNoisy::TooFewRounds {
            kept: kept.len(),
            taken: rounds.len(),
        });
    }
    Ok(kept)
}

/// Returns the median over the rounds of `value_of`, and the percentile bootstrap interval of that
/// median. Rounds are drawn whole: their windows are close in time, so a disturbance of one
/// disturbs the others.
fn estimate<const N: usize>(
    rounds: &[RoundCosts<N>],
    value_of: impl Fn([f64; N]) -> f64,
) -> Result<ProbeEstimate, TooNoisy> {
    let values = usable_rounds(rounds)?
        .into_iter()
        .map(|costs| Some(value_of(costs)));
    estimate_values(&values.collect::<Vec<_>>())
}

/// Returns the median of the values that rounds have, and its bootstrap interval, however wide.
///
/// # Errors
/// Too few rounds have a value.
pub fn estimate_values(rounds: &[Option<f64>]) -> Result<ProbeEstimate, TooNoisy> {
    let values = rounds.iter().flatten().copied();
    let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    if values.len() < ROUNDS_MIN {
        return Err(TooNoisy::TooFewRounds {
            kept: values.len(),
            taken: rounds.len(),
        });
    }
    // The seeded draws are by rank.
    values.sort_unstable_by(f64::total_cmp);
    let middle = median(&values);
    let mut random = SplitMix64::new(values.len() as u64);
    let medians = resample(&values, RESAMPLES, &mut random, median);
    let medians = SortedSample::new(medians);
    let quantile = |share: f64| medians.nearest_quantile(share).unwrap_or(middle);
    Ok(ProbeEstimate::new(middle, quantile(0.025), quantile(0.975)))
}

fn require_narrow(estimate: ProbeEstimate) -> Result<ProbeEstimate, TooNoisy> {
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) if low > 0.0 && high <= 2.0 * low => Ok(estimate),
        _ => Err(wide_error(estimate)),
    }
}

fn wide_error(estimate: ProbeEstimate) -> TooNoisy {
    TooNoisy::WideInterval {
        low: estimate.low.unwrap_or(f64::NAN),
        high: estimate.high.unwrap_or(f64::NAN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use relayout_statistics::random::RandomSequence;

    fn rounds<const N: usize>(
        count: usize,
        costs_of: impl Fn(usize) -> [f64; N],
    ) -> Vec<RoundCosts<N>> {
        (0..count).map(|i| Some(costs_of(i))).collect()
    }

    /// Up to `size` more or less, in a fixed order without a pattern.
    fn noise(i: usize, size: f64) -> f64 {
        let mut random = SplitMix64::new(i as u64 + 1);
        random.below(3);
        1.0 + size * (random.below(2001) as f64 / 1000.0 - 1.0)
    }

    #[test]
    fn median_of_odd_even_none() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn ratio_of_steady_costs_is_exact() {
        let found = ratio(&rounds(10, |i| [3.0 * (i + 1) as f64, (i + 1) as f64]));
        assert_eq!(found, Ok(ProbeEstimate::new(3.0, 3.0, 3.0)));
    }

    #[test]
    fn interval_holds_the_true_value_and_is_narrow() {
        let found = ratio(&rounds(40, |i| [2.0 * noise(i, 0.1), noise(i + 100, 0.1)])).unwrap();
        let (low, high) = (found.low.unwrap(), found.high.unwrap());
        assert!(low < 2.0 && 2.0 < high && high - low < 0.2, "{found:?}");
        assert!((low..=high).contains(&found.value.unwrap()));
    }

    #[test]
    fn disturbed_rounds_do_not_count() {
        let mut disturbed = rounds(ROUNDS_MIN, |_| [5.0]);
        disturbed.extend([None, Some([f64::NAN]), Some([0.0])]);
        assert_eq!(cost(&disturbed), Ok(ProbeEstimate::new(5.0, 5.0, 5.0)));
        disturbed.remove(0);
        assert_eq!(
            cost(&disturbed),
            Err(TooNoisy::TooFewRounds {
                kept: ROUNDS_MIN - 1,
                taken: ROUNDS_MIN + 2
            })
        );
    }

    #[test]
    fn costs_all_over_the_place_say_nothing() {
        let found = cost(&rounds(12, |i| [[1.0, 100.0][i % 2]]));
        assert!(
            matches!(found, Err(TooNoisy::WideInterval { .. })),
            "{found:?}"
        );
    }

    #[test]
    fn pair_without_effect_is_zero() {
        let found = coefficient(&rounds(40, |i| {
            [
                50.0 * noise(i, 0.05),
                5.0 * noise(i + 50, 0.05),
                5.0 * noise(i + 99, 0.05),
            ]
        }))
        .unwrap();
        assert_eq!(found.value, Some(0.0));
        assert!(
            found.low.unwrap() <= 0.0 && found.high.unwrap() < 0.05,
            "{found:?}"
        );
    }

    #[test]
    fn pair_with_effect_is_seen() {
        let found = coefficient(&rounds(40, |i| {
            [
                50.0 * noise(i, 0.05),
                15.0 * noise(i + 50, 0.05),
                5.0 * noise(i + 99, 0.05),
            ]
        }))
        .unwrap();
        let truth = 10.0 / 45.0;
        assert!(
            found.low.unwrap() < truth && truth < found.high.unwrap(),
            "{found:?}"
        );
        assert!(found.value.unwrap() > 0.15);
    }

    #[test]
    fn pair_with_next_to_no_effect_is_zero() {
        let found = coefficient(&rounds(10, |_| [105.0, 6.0, 5.0])).unwrap();
        assert_eq!(found, ProbeEstimate::new(0.0, 0.01, 0.01));
    }

    #[test]
    fn pair_that_helps_is_zero_too() {
        let found = coefficient(&rounds(10, |_| [50.0, 4.0, 5.0])).unwrap();
        assert_eq!(found.value, Some(0.0));
        assert!(found.high.unwrap() < 0.0);
    }

    #[test]
    fn pair_without_a_scale_is_unknown() {
        let found = coefficient(&rounds(10, |_| [5.1, 5.0, 5.0]));
        assert!(matches!(found, Err(TooNoisy::NoScale { .. })), "{found:?}");
    }

    #[test]
    fn spread_ignores_outliers() {
        let mut costs = vec![10.0; 9];
        costs.extend([11.0, 9.0, 1000.0]);
        assert_eq!(spread(&costs), Some(0.0));
        let even: Vec<f64> = (0..101).map(f64::from).collect();
        assert!((spread(&even).unwrap() - MAD_TO_DEVIATION * 0.5).abs() < 1e-9);
        assert_eq!(spread(&[1.0; 3]), None);
    }
}
