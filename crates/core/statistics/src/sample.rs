//! Quantiles of a sample, as percentile bootstrap intervals need them.

/// Values in ascending order.
///
/// ```
/// use relayout_statistics::SortedSample;
///
/// let sample = SortedSample::new(vec![3.0, 1.0, 2.0, 5.0, 4.0]);
/// assert_eq!(sample.nearest_quantile(0.5), Some(3.0));
/// assert_eq!(sample.lower_quantile(0.3), Some(2.0));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SortedSample(Vec<f64>);

impl SortedSample {
    /// Sorts the values.
    pub fn new(mut values: Vec<f64>) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        Self(values)
    }

    /// Returns the value whose rank is nearest to `share` of the way from the first to the last;
    /// `None` for no values.
    pub fn nearest_quantile(&self, share: f64) -> Option<f64> {
        let last = self.0.len().checked_sub(1)?;
        self.0.get((last as f64 * share).round() as usize).copied()
    }

    /// Returns the standard deviation of the values, by their number.
    pub(crate) fn deviation(&self) -> f64 {
        let count = self.0.len() as f64;
        let mean = self.0.iter().sum::<f64>() / count;
        let squares: f64 = self.0.iter().map(|value| (value - mean).powi(2)).sum();
        (squares / count).sqrt()
    }

    /// Returns the value with `share` of the sample before it, rounded down; `None` for no values,
    /// and for a share of 1. The upper end of an interval is one rank above that of
    /// [`nearest_quantile`](Self::nearest_quantile). Shown intervals of layouts have it, so it stays;
    /// a new interval takes the other.
    pub fn lower_quantile(&self, share: f64) -> Option<f64> {
        self.0.get((share * self.0.len() as f64) as usize).copied()
    }
}
