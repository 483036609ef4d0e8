//! Confidence in the types of objects.

use serde::{Deserialize, Serialize};

/// Confidence of an elected type, at least, in percent.
pub const CONFIDENCE_MIN_PERCENT: u8 = 75;
/// Objects with a less certain type, at most, in percent of all.
const UNCERTAIN_MAX_PERCENT: u64 = 10;

/// Confidence in the types of objects: some are elected by evidence that hardly agrees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeConfidence {
    /// All objects.
    pub objects: u64,
    /// Objects whose type is less certain than [`CONFIDENCE_MIN_PERCENT`].
    pub uncertain: u64,
    /// Lowest confidence, in percent; 100 without objects.
    pub least_percent: u8,
}

impl TypeConfidence {
    /// Returns the confidence in objects, of each of which it is given in percent.
    ///
    /// ```
    /// use relayout_contend::TypeConfidence;
    ///
    /// let confidence = TypeConfidence::from_percents([100, 60, 90].into_iter());
    /// assert_eq!(confidence.uncertain, 1);
    /// assert!(confidence.is_doubtful());
    /// ```
    pub fn from_percents(percents: impl Iterator<Item = u8>) -> Self {
        let none = Self {
            objects: 0,
            uncertain: 0,
            least_percent: 100,
        };
        percents.fold(none, |confidence, percent| Self {
            objects: confidence.objects + 1,
            uncertain: confidence.uncertain + u64::from(percent < CONFIDENCE_MIN_PERCENT),
            least_percent: confidence.least_percent.min(percent),
        })
    }

    /// Returns true if the type is uncertain for more than a tenth of the objects.
    pub fn is_doubtful(&self) -> bool {
        self.uncertain * 100 > self.objects * UNCERTAIN_MAX_PERCENT
    }
}
