//! Locations that a few outliers do not move.

/// Returns the middle value, or the mean of the two in the middle; `None` for no values.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    middle(&mut values)
}

/// Returns the median of the means of all pairs of values, each with itself too: the estimator of
/// Hodges and Lehmann (*Estimates of location based on rank tests*, 1963). `None` for no values.
///
/// Timings often lie around two modes. The median jumps from one to the other; this estimate does
/// not. It takes time and memory in the square of the number of values.
pub fn hodges_lehmann(values: &[f64]) -> Option<f64> {
    let mut means = Vec::with_capacity(values.len() * (values.len() + 1) / 2);
    hodges_lehmann_in(values, &mut means)
}

/// [`hodges_lehmann`] with a buffer for the means, which spares repeated callers the allocation.
pub(crate) fn hodges_lehmann_in(values: &[f64], means: &mut Vec<f64>) -> Option<f64> {
    means.clear();
    for (index, a) in values.iter().enumerate() {
        means.extend(values[index..].iter().map(|b| a.midpoint(*b)));
    }
    middle(means)
}

fn middle(values: &mut [f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let at = values.len() / 2;
    let is_even = values.len().is_multiple_of(2);
    let (below, upper, _) = values.select_nth_unstable_by(at, f64::total_cmp);
    let upper = *upper;
    if !is_even {
        return Some(upper);
    }
    let lower = below.iter().copied().max_by(f64::total_cmp)?;
    // The sum of both can be beyond the largest number.
    Some(lower.midpoint(upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(values: &[f64], expect_median: f64, expect_hodges_lehmann: f64) {
        assert_eq!(median(values), Some(expect_median));
        assert_eq!(hodges_lehmann(values), Some(expect_hodges_lehmann));
    }

    #[test]
    fn by_hand() {
        check(&[3.0], 3.0, 3.0);
        check(&[1.0, 2.0], 1.5, 1.5);
        check(&[9.0, 1.0, 2.0], 2.0, 3.5);
        // Means: 1, 1.5, 2.5, 5.5, 2, 3, 6, 4, 7, 10.
        check(&[1.0, 2.0, 4.0, 10.0], 3.0, 3.5);
        // The wild value is one of 15 means in the upper end.
        check(&[1.0, 2.0, 3.0, 4.0, 1e9], 3.0, 3.0);
    }

    #[test]
    fn largest_values() {
        check(&[f64::MAX, f64::MAX], f64::MAX, f64::MAX);
        let large = 2f64.powi(1023);
        check(
            &[large, 1.5 * large, 1.5 * large],
            1.5 * large,
            1.375 * large,
        );
    }

    #[test]
    fn of_nothing() {
        assert_eq!(median(&[]), None);
        assert_eq!(hodges_lehmann(&[]), None);
    }
}
