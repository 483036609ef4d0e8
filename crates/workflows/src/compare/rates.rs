//! Rates of two samples of recordings, and the verdict on their difference.

use relayout_statistics::{MeanDifference, reject_hypotheses};
use relayout_verify::judged_change::{ChangeBasis, ChangeScale, ChangeVerdict, JudgedChange};

/// Part of all confidence intervals that miss the true change.
const ALPHA: f64 = 0.05;
/// Recordings of each side without which nothing is told.
pub(super) const RECORDINGS_MIN: usize = 3;
/// Recordings of each side without which there is no estimate of the spread.
const ESTIMATE_MIN: usize = 2;
/// Recordings of each side from which on the ranges of values may overlap. Fewer say too little
/// about the spread.
const RECORDINGS_ENOUGH: usize = 6;

/// Transfers per operation on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct RateChange {
    /// Rate in each recording of the old side.
    pub old: Vec<f64>,
    /// Rate in each recording of the new side.
    pub new: Vec<f64>,
    /// Change of the mean rates, with all subjects of the workload taken into account. It is `None` where the old rate
    /// is 0 and the new one is not, or a side has fewer than two recordings.
    pub judged: JudgedChange,
    /// Probability of a difference at least as large between recordings of one build.
    pub p_value: f64,
}

impl RateChange {
    /// Returns true if the old side has no transfers, and the verdict is that the new side has
    /// some.
    pub fn is_new(&self) -> bool {
        self.judged.verdict == ChangeVerdict::Worse && self.judged.before == 0.0
    }

    /// Returns true if a side has too few recordings to estimate a change.
    pub fn is_without_estimate(&self) -> bool {
        self.old.len().min(self.new.len()) < ESTIMATE_MIN
    }

    /// Returns true if no rate of one side lies within those of the other.
    pub fn is_apart(&self) -> bool {
        let (old, new) = (value_range(&self.old), value_range(&self.new));
        old[1] < new[0] || new[1] < old[0]
    }

    /// Compares two samples. The ratio is judged on a logarithmic scale where all rates are above
    /// 0, and else the difference.
    fn estimate(old: Vec<f64>, new: Vec<f64>) -> Self {
        let has_zeros = old.iter().chain(&new).any(|rate| *rate <= 0.0);
        let (change, interval, p_value) = match has_zeros {
            true => change_by_difference(&old, &new),
            false => change_by_ratio(&old, &new),
        };
        Self {
            judged: JudgedChange {
                basis: ChangeBasis::Counted,
                before: mean(&old),
                after: mean(&new),
                scale: ChangeScale::Ratio,
                change,
                interval,
                verdict: ChangeVerdict::Unclear,
            },
            old,
            new,
            p_value,
        }
    }

    fn judge(&mut self, is_rejected: bool, margin: f64) {
        let recordings = self.old.len().min(self.new.len());
        let is_within =
            { self.judged.interval }.is_some_and(|[low, high]| low >= -margin && high <= margin);
        let is_told = is_rejected && (recordings >= RECORDINGS_ENOUGH || self.is_apart());
        let is_large = self
            .judged
            .change
            .is_none_or(|change| change.abs() >= margin);
        self.judged.verdict = match recordings {
            ..RECORDINGS_MIN => ChangeVerdict::Unclear,
            _ if is_told && is_large && self.judged.after > self.judged.before => {
                ChangeVerdict::Worse
            }
            _ if is_told && is_large => ChangeVerdict::Better,
            _ if is_within => ChangeVerdict::Same,
            _ => ChangeVerdict::Unclear,
        };
    }
}

/// Judges rates of several subjects at once, each given by its rates on both sides. Of the changes
/// that are told, at most 5% are none on average.
pub(super) fn judge_rates(samples: Vec<[Vec<f64>; 2]>, margin: f64) -> Vec<RateChange> {
    let mut changes: Vec<RateChange> = samples
        .into_iter()
        .map(|[old, new]| RateChange::estimate(old, new))
        .collect();
    let p_values: Vec<f64> = changes.iter().map(|change| change.p_value).collect();
    for (change, is_rejected) in changes.iter_mut().zip(reject_hypotheses(&p_values, ALPHA)) {
        change.judge(is_rejected, margin);
    }
    changes
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |sum, value| sum + value) / values.len().max(1) as f64
}

fn value_range(values: &[f64]) -> [f64; 2] {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    [low, high]
}

type EstimatedChange = (Option<f64>, Option<[f64; 2]>, f64);

fn change_by_ratio(old: &[f64], new: &[f64]) -> EstimatedChange {
    let [old, new] = [old, new].map(|rates| rates.iter().map(|rate| rate.ln()).collect::<Vec<_>>());
    let Some(found) = MeanDifference::estimate(&old, &new) else {
        return (None, None, 1.0);
    };
    let half_width = found.half_width(ALPHA);
    let ends = [-half_width, half_width].map(|end| (found.difference + end).exp_m1());
    (Some(found.difference.exp_m1()), Some(ends), found.p_value())
}

fn change_by_difference(old: &[f64], new: &[f64]) -> EstimatedChange {
    let Some(found) = MeanDifference::estimate(old, new) else {
        return (None, None, 1.0);
    };
    let half_width = found.half_width(ALPHA);
    let base = mean(old);
    let fraction = |difference: f64| match base > 0.0 {
        true => Some(difference / base),
        // Nothing before and nothing now is no change.
        false => (difference == 0.0).then_some(0.0),
    };
    let low = fraction(found.difference - half_width);
    let high = fraction(found.difference + half_width);
    // A rate loses all it has at most.
    let interval = low.zip(high).map(|ends| [ends.0.max(-1.0), ends.1]);
    (fraction(found.difference), interval, found.p_value())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(old: &[f64], new: &[f64], expect: ChangeVerdict) {
        let judged = judge_rates(vec![[old.to_vec(), new.to_vec()]], 0.05);
        assert_eq!(judged[0].judged.verdict, expect, "{:?}", judged[0]);
    }

    #[test]
    fn verdicts() {
        use ChangeVerdict::*;
        check(&[10.0, 10.1, 9.9], &[8.0, 8.1, 7.9], Better);
        check(&[8.0, 8.1, 7.9], &[10.0, 10.1, 9.9], Worse);
        check(&[10.0, 10.01, 9.99], &[10.02, 10.0, 10.01], Same);
        // The difference is certain, and too small to matter.
        check(&[10.0, 10.01, 9.99], &[10.2, 10.21, 10.19], Same);
        check(&[5.0, 15.0, 10.0], &[8.0, 13.0, 12.0], Unclear);
        check(&[0.0, 0.0, 0.0], &[3.0, 3.1, 3.2], Worse);
        check(&[3.0, 3.1, 3.2], &[0.0, 0.0, 0.0], Better);
        check(&[0.0, 0.0, 0.0], &[0.0, 0.0, 0.0], Same);
    }

    #[test]
    fn few_recordings_tell_nothing() {
        check(&[10.0, 10.1], &[20.0, 20.1], ChangeVerdict::Unclear);
        check(&[10.0], &[20.0], ChangeVerdict::Unclear);
        check(&[], &[], ChangeVerdict::Unclear);
    }

    /// With fewer than six recordings a side, overlapping ranges tell nothing.
    #[test]
    fn ranges_of_few_recordings() {
        let (old, new) = ([10.0, 10.2, 10.4, 11.0], [10.9, 11.6, 11.8, 12.0]);
        check(&old, &new, ChangeVerdict::Unclear);
        let many = |values: &[f64]| [values, values].concat();
        check(&many(&old), &many(&new), ChangeVerdict::Worse);
    }

    /// A rate that is 0 on both sides does not change. One that was 0 has no fraction to change by.
    #[test]
    fn zeros() {
        let judged = |old: &[f64], new: &[f64]| {
            let mut judged = judge_rates(vec![[old.to_vec(), new.to_vec()]], 0.05);
            judged.remove(0)
        };
        let nothing = judged(&[0.0; 3], &[0.0; 3]);
        assert_eq!(
            (nothing.judged.change, nothing.judged.interval),
            (Some(0.0), Some([0.0; 2]))
        );
        assert!(!nothing.is_new());
        let told = judged(&[0.0; 3], &[3.0, 3.1, 3.2]);
        assert_eq!((told.judged.change, told.is_new()), (None, true));
        let untold = judged(&[0.0; 3], &[0.0, 0.0, 3.0]);
        assert_eq!((untold.judged.change, untold.is_new()), (None, false));
        let single = judged(&[0.0], &[3.0]);
        assert!(single.is_without_estimate() && !single.is_new());
    }

    #[test]
    fn change_and_interval() {
        let judged = judge_rates(vec![[vec![1.0, 1.0, 1.0], vec![1.5, 1.5, 1.5]]], 0.05);
        assert!((judged[0].judged.change.unwrap() - 0.5).abs() < 1e-12);
        let [low, high] = judged[0].judged.interval.unwrap();
        assert!((low - 0.5).abs() < 1e-12 && (high - 0.5).abs() < 1e-12);
    }
}
