//! The bootstrap: statistics of samples that are drawn from the values at hand.

use crate::random::RandomSequence;

/// Draws as many of `values` as there are, with replacement, and returns the statistic of each of
/// `count` such draws.
///
/// ```
/// use relayout_statistics::random::SplitMix64;
/// use relayout_statistics::{SortedSample, median, resample};
///
/// let times_ms = [20.1, 19.8, 20.4, 20.0, 93.0, 19.9, 20.2];
/// let medians = resample(&times_ms, 1000, &mut SplitMix64::new(1), |drawn| median(drawn));
/// let medians = SortedSample::new(medians.into_iter().flatten().collect());
/// assert!(medians.nearest_quantile(0.975).unwrap() < 93.1);
/// ```
pub fn resample<T: Copy, S>(
    values: &[T],
    count: usize,
    random: &mut impl RandomSequence,
    mut statistic: impl FnMut(&[T]) -> S,
) -> Vec<S> {
    let mut drawn = values.to_vec();
    let mut draw = || {
        for value in &mut drawn {
            *value = values[random.below(values.len())];
        }
        statistic(&drawn)
    };
    (0..count).map(|_| draw()).collect()
}
