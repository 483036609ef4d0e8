//! Difference of the means of two independent samples.

use crate::{t_cdf, t_quantile};

/// Difference of the means of two independent samples, with its standard error: Welch's
/// approximation (*The generalization of "Student's" problem when several different population
/// variances are involved*, Biometrika 34, 1947).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanDifference {
    /// Mean of the second sample less that of the first.
    pub difference: f64,
    /// Standard error of the difference.
    pub error: f64,
    /// Degrees of freedom, by the equation of Welch and Satterthwaite.
    pub freedom: f64,
}

impl MeanDifference {
    /// Compares two samples. `None` if either has fewer than two values.
    ///
    /// ```
    /// use relayout_statistics::MeanDifference;
    ///
    /// let found = MeanDifference::estimate(&[1.0, 2.0, 3.0], &[11.0, 12.0, 13.0]).unwrap();
    /// assert_eq!(found.difference, 10.0);
    /// assert_eq!(found.freedom, 4.0);
    /// ```
    pub fn estimate(first: &[f64], second: &[f64]) -> Option<Self> {
        let (first, second) = (MeanError::of_sample(first)?, MeanError::of_sample(second)?);
        let variance = first.variance + second.variance;
        let spread = |side: &MeanError| side.variance.powi(2) / (side.count - 1.0);
        let freedom = match variance > 0.0 {
            true => variance.powi(2) / (spread(&first) + spread(&second)),
            false => first.count + second.count - 2.0,
        };
        Some(Self {
            difference: second.mean - first.mean,
            error: variance.sqrt(),
            freedom,
        })
    }

    /// Half the width of the interval that misses the true difference in `alpha` of all experiments.
    pub fn half_width(&self, alpha: f64) -> f64 {
        self.error * t_quantile(1.0 - 0.5 * alpha, self.freedom)
    }

    /// Probability of a difference at least as far from 0 if the true difference is 0.
    pub fn p_value(&self) -> f64 {
        match (self.difference == 0.0, self.error > 0.0) {
            (true, _) => 1.0,
            (_, true) => 2.0 * t_cdf(-(self.difference / self.error).abs(), self.freedom),
            (_, false) => 0.0,
        }
    }
}

/// Mean of a sample with the variance of the mean.
struct MeanError {
    mean: f64,
    variance: f64,
    count: f64,
}

impl MeanError {
    fn of_sample(values: &[f64]) -> Option<Self> {
        if values.len() < 2 {
            return None;
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Some(Self {
            mean,
            variance: squares / (count - 1.0) / count,
            count,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{RandomSequence, SplitMix64};

    #[test]
    fn few_and_equal_values() {
        assert_eq!(MeanDifference::estimate(&[1.0], &[1.0, 2.0]), None);
        let same = MeanDifference::estimate(&[1.0, 1.0], &[1.0, 1.0, 1.0]).unwrap();
        assert_eq!((same.difference, same.error, same.freedom), (0.0, 0.0, 3.0));
        assert_eq!(same.p_value(), 1.0);
        let apart = MeanDifference::estimate(&[1.0, 1.0], &[2.0, 2.0]).unwrap();
        assert_eq!(apart.p_value(), 0.0);
    }

    /// Student's data of the sleep of ten patients under two drugs (*The probable error of a mean*, 1908), of
    /// which every textbook gives t = -1.8608, 17.776 degrees of freedom and p = 0.07939.
    #[test]
    fn sleep_of_patients() {
        let first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let found = MeanDifference::estimate(&first, &second).unwrap();
        assert!((found.difference / found.error - 1.8608).abs() < 1e-4);
        assert!((found.freedom - 17.776).abs() < 1e-3);
        assert!((found.p_value() - 0.07939).abs() < 1e-5);
    }

    /// Equal populations differ at the level of one in twenty about that often.
    #[test]
    fn error_rate_of_equal_populations() {
        let mut random = SplitMix64::new(7);
        let mut normal = |_| (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        let differing = (0..2000).filter(|_| {
            let [first, second] = [0, 1].map(|_| (0..4).map(&mut normal).collect::<Vec<f64>>());
            MeanDifference::estimate(&first, &second).unwrap().p_value() <= 0.05
        });
        let share = differing.count() as f64 / 2000.0;
        assert!((0.02..0.065).contains(&share), "{share}");
    }
}
