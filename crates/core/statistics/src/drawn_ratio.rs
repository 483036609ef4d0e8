//! Ratio of two rates that a model gives, with what the model's unknown parameters make of it.

use crate::median;

/// Largest part of the draws that an interval leaves out.
const LEFT_OUT: f64 = 0.1;
/// Ratios that differ by less are the same.
const SAME_WITHIN: f64 = 0.005;

/// Rates of today and with a change, in the same unit; `None` where nothing happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatePair {
    /// As it is.
    pub today: Option<f64>,
    /// With the change.
    pub then: Option<f64>,
}

impl RatePair {
    fn ratio(self) -> Option<f64> {
        Some(self.then? / self.today.filter(|rate| *rate > 0.0)?)
    }
}

/// Rate with a change over that of today.
#[derive(Clone, Debug, PartialEq)]
pub struct DrawnRatio {
    /// With the expected parameters; `None` if nothing happened on one side.
    pub expected: Option<f64>,
    /// Of each draw of the parameters, in order; those in which nothing happened are left out.
    pub drawn: Vec<f64>,
}

/// Verdict of a ratio on a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RatioVerdict {
    /// The rate grows.
    Better,
    /// The rate falls.
    Worse,
    /// The rate stays.
    Same,
    /// The draws disagree, or there are none.
    Unclear,
}

impl RatioVerdict {
    /// Returns the word for documents and text.
    pub fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same => "same",
            Self::Unclear => "unclear",
        }
    }
}

impl DrawnRatio {
    /// Makes the ratio from the rates with the expected parameters, and with each draw.
    pub fn new(expected: RatePair, drawn: &[RatePair]) -> Self {
        Self {
            expected: expected.ratio(),
            drawn: drawn.iter().filter_map(|pair| pair.ratio()).collect(),
        }
    }

    /// Makes the ratio from draws alone, whose median stands for the expected one.
    pub fn from_draws(drawn: &[RatePair]) -> Self {
        let nothing = RatePair {
            today: None,
            then: None,
        };
        let ratio = Self::new(nothing, drawn);
        Self {
            expected: median(&ratio.drawn),
            ..ratio
        }
    }

    /// Returns the bounds that leave out at most a tenth of the draws, as many at each end, and hold the ratio with the expected
    /// parameters; `None` without draws.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let mut ordered = self.drawn.clone();
        ordered.sort_by(f64::total_cmp);
        let out = (ordered.len() as f64 * LEFT_OUT / 2.0) as usize;
        let kept = ordered.get(out..ordered.len().checked_sub(out)?)?;
        let (low, high) = (*kept.first()?, *kept.last()?);
        let expected = self.expected?;
        Some((low.min(expected), high.max(expected)))
    }

    /// Returns the verdict of all draws.
    pub fn verdict(&self) -> RatioVerdict {
        let Some((low, high)) = self.interval() else {
            return RatioVerdict::Unclear;
        };
        if low > 1.0 - SAME_WITHIN && high < 1.0 + SAME_WITHIN {
            RatioVerdict::Same
        } else if low >= 1.0 - SAME_WITHIN {
            RatioVerdict::Better
        } else if high <= 1.0 + SAME_WITHIN {
            RatioVerdict::Worse
        } else {
            RatioVerdict::Unclear
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(drawn: &[f64], interval: (f64, f64), verdict: RatioVerdict) {
        let ratio = DrawnRatio {
            expected: drawn.first().copied(),
            drawn: drawn.to_vec(),
        };
        assert_eq!(ratio.interval(), Some(interval));
        assert_eq!(ratio.verdict(), verdict);
    }

    #[test]
    fn the_draws_decide() {
        check(&[1.2, 1.1, 1.4], (1.1, 1.4), RatioVerdict::Better);
        check(&[0.8, 0.9], (0.8, 0.9), RatioVerdict::Worse);
        check(&[1.0, 1.001], (1.0, 1.001), RatioVerdict::Same);
        check(&[0.9, 1.2], (0.9, 1.2), RatioVerdict::Unclear);
        // Of ten, none is left out.
        let mut ten = vec![1.1; 9];
        ten.push(0.5);
        check(&ten, (0.5, 1.1), RatioVerdict::Unclear);
        // Of twenty, one is left out at each end.
        let mut twenty = vec![1.1; 18];
        twenty.extend([0.5, 3.0]);
        check(&twenty, (1.1, 1.1), RatioVerdict::Better);
    }

    #[test]
    fn the_expected_ratio_is_never_outside_of_the_interval() {
        let ratio = DrawnRatio {
            expected: Some(0.9),
            drawn: vec![1.1, 1.2],
        };
        assert_eq!(ratio.interval(), Some((0.9, 1.2)));
        assert_eq!(ratio.verdict(), RatioVerdict::Unclear);
    }

    #[test]
    fn rates_without_events_have_no_ratio() {
        let pair = |today, then| RatePair { today, then };
        let empty = [pair(Some(0.0), Some(1.0)), pair(None, Some(1.0))];
        let ratio = DrawnRatio::new(pair(Some(2.0), Some(3.0)), &empty);
        assert_eq!(ratio.expected, Some(1.5));
        assert_eq!(ratio.interval(), None);
        assert_eq!(ratio.verdict(), RatioVerdict::Unclear);
    }
}
