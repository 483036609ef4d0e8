//! Standard error of a location, by the bootstrap.

use crate::median::hodges_lehmann_in;
use crate::random::SplitMix64;
use crate::{SortedSample, hodges_lehmann, resample, t_cdf, t_quantile};

/// Efron and Tibshirani (*An Introduction to the Bootstrap*, 1993, 6.4) find 200 enough for a
/// standard error.
const RESAMPLES: usize = 1000;

/// Location of a sample of values, with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LocationEstimate {
    /// [`hodges_lehmann`] of the values, in their unit.
    pub location: f64,
    /// Standard error of the location, in the same unit.
    pub error: f64,
    /// Number of values.
    pub count: usize,
}

/// Estimates the location of independent values. `seed` makes the resampling repeatable. `None` for
/// fewer than two values.
///
/// The standard error is the standard deviation over `RESAMPLES` bootstrap resamples, or half the
/// distance of the quantiles that lie one standard deviation off for a normal distribution,
/// whichever is more; multiplied by sqrt(n / (n - 1)), since the bootstrap's distribution is too
/// narrow by that (Hesterberg, *What teachers should know about the bootstrap*, The American
/// Statistician 69, 2015).
pub fn estimate_location(values: &[f64], seed: u64) -> Option<LocationEstimate> {
    let count = values.len();
    if count < 2 {
        return None;
    }
    let location = hodges_lehmann(values)?;
    let mut means = Vec::new();
    let locations = resample(values, RESAMPLES, &mut SplitMix64::new(seed), |drawn| {
        hodges_lehmann_in(drawn, &mut means).unwrap_or(location)
    });
    let locations = SortedSample::new(locations);
    let quantile = |share: f64| locations.nearest_quantile(share).unwrap_or(location);
    let width = 0.5 * (quantile(0.841_345) - quantile(0.158_655));
    let width = width.max(locations.deviation());
    let count_f = count as f64;
    Some(LocationEstimate {
        location,
        error: width * (count_f / (count_f - 1.0)).sqrt(),
        count,
    })
}

impl LocationEstimate {
    fn freedom(&self) -> f64 {
        self.count as f64 - 1.0
    }

    /// Half the width of the interval that misses the true location in `alpha` of all experiments:
    /// the t interval with the bootstrap's standard error (Hesterberg 2015, 5.2).
    pub fn half_width(&self, alpha: f64) -> f64 {
        self.error * t_quantile(1.0 - 0.5 * alpha, self.freedom())
    }

    /// Probability of a location at least as far from 0 if the true location is 0.
    ///
    /// Never less than 2 / 2^n, the smallest probability of the signs of n values: a few equal
    /// values are no certainty.
    pub fn p_value(&self) -> f64 {
        let by_t = match (self.location == 0.0, self.error > 0.0) {
            (true, _) => 1.0,
            (_, true) => 2.0 * t_cdf(-(self.location / self.error).abs(), self.freedom()),
            (_, false) => 0.0,
        };
        by_t.max(self.p_least())
    }

    /// Lower limit of [`p_value`](Self::p_value) for this number of values.
    pub fn p_least(&self) -> f64 {
        2.0 * 0.5f64.powf(self.count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::RandomSequence;

    #[test]
    fn few_and_equal_values() {
        assert_eq!(estimate_location(&[], 1), None);
        assert_eq!(estimate_location(&[1.0], 1), None);
        let same = estimate_location(&[0.5; 4], 1).unwrap();
        assert_eq!((same.location, same.error), (0.5, 0.0));
        assert_eq!(same.p_value(), 0.125);
        assert_eq!(estimate_location(&[0.0; 9], 1).unwrap().p_value(), 1.0);
    }

    /// For normal values the standard error of the estimator is sqrt(pi/3) sigma / sqrt(n).
    #[test]
    fn error_of_normal_values() {
        let mut random = SplitMix64::new(5);
        let mut normal = || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        let values: Vec<f64> = (0..100).map(|_| normal()).collect();
        let found = estimate_location(&values, 1).unwrap().error;
        assert!((0.08..0.13).contains(&found), "{found}");
    }
}
