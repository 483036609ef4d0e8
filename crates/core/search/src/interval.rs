//! Confidence intervals of a change, by resampling stretches of the recording.

use relayout_statistics::random::XorShift64;
use relayout_statistics::{SortedSample, resample};

/// Number of resamples.
const RESAMPLES: usize = 2000;
/// Minimum number of transfers, before or after, for an interval. With fewer, only few stretches
/// have any, and the interval comes out too narrow (from 2 to 1 in every resample).
const TRANSFERS_MIN: u64 = 30;

/// Relative change of the transfers with its 95% interval: -0.2 is a fifth less.
///
/// Stretches of the recording (objects, or parts of a long trace) are drawn with replacement. The
/// interval shows how even the change is over this recording, not how another recording would come
/// out.
///
/// ```
/// use relayout_search::ChangeInterval;
///
/// let change = ChangeInterval::from_stretches(&[100; 30], &[80; 30]).expect("enough transfers");
/// assert!((change.change + 0.2).abs() < 1e-9);
/// assert!(change.is_less());
/// // Three transfers are too few to tell a change from chance.
/// assert_eq!(ChangeInterval::from_stretches(&[2, 1], &[1, 0]), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangeInterval {
    /// Change over the whole recording.
    pub change: f64,
    /// Lower end: 2.5% of the resamples changed by less.
    pub low: f64,
    /// Upper end: 2.5% of the resamples changed by more.
    pub high: f64,
}

impl ChangeInterval {
    /// Estimates the change from `before` to `after`, which hold the transfers of each stretch.
    /// `None` if there were no transfers before, or too few before and after.
    pub fn from_stretches(before: &[u64], after: &[u64]) -> Option<Self> {
        let sum = |all: &[u64]| {
            all.iter()
                .fold(0, |sum: u64, count| sum.saturating_add(*count))
        };
        if sum(before).max(sum(after)) < TRANSFERS_MIN {
            return None;
        }
        let pairs: Vec<(u64, u64)> = before.iter().copied().zip(after.iter().copied()).collect();
        let change = relative_change(pairs.iter().copied())?;
        let mut random = XorShift64::new(1);
        let drawn = resample(&pairs, RESAMPLES, &mut random, |drawn| {
            relative_change(drawn.iter().copied())
        });
        let drawn = SortedSample::new(drawn.into_iter().flatten().collect());
        let quantile = |share| drawn.lower_quantile(share).unwrap_or(change);
        Some(Self {
            change,
            low: quantile(0.025),
            high: quantile(0.975),
        })
    }

    /// Moves the interval to the change that was counted over the whole recording, because a single
    /// stretch misses the transfers at its start.
    pub(crate) fn centered_on(self, before: u64, after: u64) -> Self {
        let Some(change) = relative_change([(before, after)].into_iter()) else {
            return self;
        };
        let shift = change - self.change;
        Self {
            change,
            // The transfers cannot fall by more than all.
            low: (self.low + shift).max(-1.0),
            high: self.high + shift,
        }
    }

    /// Returns true if the transfers clearly fall.
    pub fn is_less(&self) -> bool {
        self.high < 0.0
    }
}

fn relative_change(pairs: impl Iterator<Item = (u64, u64)>) -> Option<f64> {
    let (before, after) = pairs.fold((0, 0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
    (before > 0).then(|| after as f64 / before as f64 - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_change_is_sure() {
        let interval = ChangeInterval::from_stretches(&[100; 30], &[80; 30]).unwrap();
        assert!(interval.is_less());
        assert!((interval.low + 0.2).abs() < 1e-9 && (interval.high + 0.2).abs() < 1e-9);
    }

    #[test]
    fn change_that_comes_and_goes_is_not() {
        let after: Vec<u64> = (0..30).map(|n| if n % 2 == 0 { 130 } else { 65 }).collect();
        assert!(
            !ChangeInterval::from_stretches(&[100; 30], &after)
                .unwrap()
                .is_less()
        );
    }

    #[test]
    fn few_are_no_evidence() {
        assert_eq!(ChangeInterval::from_stretches(&[2, 0], &[1, 0]), None);
        assert!(
            ChangeInterval::from_stretches(&[2, 0], &[200, 100])
                .is_some_and(|interval| interval.low > 0.0)
        );
    }

    #[test]
    fn nothing_before_is_no_change() {
        assert_eq!(ChangeInterval::from_stretches(&[0, 0], &[1, 0]), None);
    }
}
