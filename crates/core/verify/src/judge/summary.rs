//! Summary statistics of one side's starts.

use relayout_statistics::median;

/// Summary statistics of one side's starts, in the metric's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SideSummary {
    /// Median of the values.
    pub median: f64,
    /// Arithmetic mean of the values.
    pub mean: f64,
    /// Sample standard deviation (with n - 1), in percent of the mean. It is `None` for one start
    /// or a mean of 0.
    pub stddev_percent: Option<f64>,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Number of starts.
    pub count: usize,
}

impl SideSummary {
    /// Summarizes `values`, one for each start. Without values, every statistic is NaN.
    pub fn from_values(values: &[f64]) -> Self {
        let count = values.len();
        let mean = mean_of(values);
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (squares / (count as f64 - 1.0)).sqrt();
        let stddev_percent = 100.0 * deviation / mean.abs();
        Self {
            median: median(values).unwrap_or(f64::NAN),
            mean,
            stddev_percent: Some(stddev_percent).filter(|percent| percent.is_finite()),
            min: values.iter().copied().fold(f64::NAN, f64::min),
            max: values.iter().copied().fold(f64::NAN, f64::max),
            count,
        }
    }

    /// Returns true if the ranges of the two sides do not overlap. LKP calls this a change.
    pub fn is_apart_from(&self, other: &Self) -> bool {
        self.max < other.min || other.max < self.min
    }
}

/// Arithmetic mean, also of values whose sum is beyond the largest number.
fn mean_of(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    match mean.is_finite() {
        true => mean,
        false => values.iter().map(|value| value / count).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_values_have_a_mean() {
        let found = SideSummary::from_values(&[1e308, 1e308, 1e308, 1e308]);
        assert_eq!((found.mean, found.median), (1e308, 1e308));
    }

    #[test]
    fn by_hand() {
        let found = SideSummary::from_values(&[1.0, 2.0, 6.0]);
        assert_eq!((found.median, found.mean, found.count), (2.0, 3.0, 3));
        assert_eq!((found.min, found.max), (1.0, 6.0));
        let expect = 100.0 * 7f64.sqrt() / 3.0;
        assert!((found.stddev_percent.unwrap() - expect).abs() < 1e-9);
        assert_eq!(SideSummary::from_values(&[4.0]).stddev_percent, None);
        assert_eq!(SideSummary::from_values(&[-1.0, 1.0]).stddev_percent, None);
    }

    #[test]
    fn ranges() {
        let low = SideSummary::from_values(&[1.0, 2.0]);
        assert!(low.is_apart_from(&SideSummary::from_values(&[2.1, 9.0])));
        assert!(SideSummary::from_values(&[2.1, 9.0]).is_apart_from(&low));
        assert!(!low.is_apart_from(&SideSummary::from_values(&[2.0, 9.0])));
    }
}
