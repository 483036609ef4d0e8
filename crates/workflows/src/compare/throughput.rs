//! Operations a second in simulated time on both sides.

use relayout_session::RecordedOperations;
use relayout_statistics::median;

use super::SideWorkload;

/// Operations a second of both sides on one machine, by the expected rules of that machine.
///
/// It has no verdict: another seed says how precise a rate is, and only other rules how sure.
#[derive(Clone, Debug, PartialEq)]
pub struct ThroughputChange {
    /// In each recording of the old side.
    pub old: Vec<f64>,
    /// In each recording of the new side.
    pub new: Vec<f64>,
}

impl ThroughputChange {
    /// Reads the rates of the recordings; `None` if some were made in the host's order.
    pub(super) fn find(sides: [&SideWorkload; 2]) -> Option<Self> {
        let rates = |side: &SideWorkload| -> Option<Vec<f64>> {
            let rate = |recording: &RecordedOperations| recording.operations_per_second;
            let rates: Option<Vec<f64>> = side.recordings.iter().map(rate).collect();
            rates.filter(|rates| !rates.is_empty())
        };
        let [old, new] = sides.map(rates);
        Some(Self {
            old: old?,
            new: new?,
        })
    }

    /// Returns the medians of both sides.
    pub fn medians(&self) -> [f64; 2] {
        [&self.old, &self.new].map(|rates| median(rates).unwrap_or_default())
    }

    /// Returns the least and the largest ratio of a new recording to an old one; `None` with one recording of each, and where
    /// nothing happened.
    pub fn extremes(&self) -> Option<(f64, f64)> {
        let least = |rates: &[f64]| rates.iter().copied().reduce(f64::min);
        let largest = |rates: &[f64]| rates.iter().copied().reduce(f64::max);
        let is_repeated = self.old.len() + self.new.len() > 2;
        let low = least(&self.new)? / largest(&self.old).filter(|&rate| rate > 0.0)?;
        let high = largest(&self.new)? / least(&self.old).filter(|&rate| rate > 0.0)?;
        is_repeated.then_some((low, high))
    }

    /// Returns the new median over the old one; `None` where nothing happened.
    pub fn ratio(&self) -> Option<f64> {
        let [old, new] = self.medians();
        (old > 0.0).then(|| new / old)
    }
}
