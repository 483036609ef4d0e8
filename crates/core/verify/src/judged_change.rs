//! Change of a number from before to after, with its verdict and with how the numbers came about.

use serde::{Deserialize, Serialize};

use crate::judge::{ChangeScale, ChangeVerdict};

/// Way in which the numbers of a change came about. Numbers of two ways are not joined, compared or gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeBasis {
    /// Both versions ran on hardware.
    Measured,
    /// Both versions ran on a machine in simulated time.
    Simulated,
    /// Both versions were recorded, and their transfers counted.
    Counted,
    /// The recording of one version was replayed with the layout of the other.
    Replayed,
}

impl ChangeBasis {
    /// Returns the name in documents and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Simulated => "simulated",
            Self::Counted => "counted",
            Self::Replayed => "replayed",
        }
    }

    /// Returns the basis that all changes have; `None` if there are none, or two differ.
    ///
    /// ```
    /// use relayout_verify::judged_change::ChangeBasis::{self, Counted, Measured};
    ///
    /// assert_eq!(ChangeBasis::common([Counted, Counted]), Some(Counted));
    /// assert_eq!(ChangeBasis::common([Counted, Measured]), None);
    /// ```
    pub fn common(bases: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut bases = bases.into_iter();
        let first = bases.next()?;
        bases.all(|basis| basis == first).then_some(first)
    }
}

/// Change of a number, judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgedChange {
    /// Way in which both numbers came about.
    pub basis: ChangeBasis,
    /// Number before the change: a median or a mean, in its own unit.
    pub before: f64,
    /// Number after the change.
    pub after: f64,
    /// Unit of `change` and `interval`.
    pub scale: ChangeScale,
    /// Change from before to after, as a fraction: -0.2 for 20% less. `None` where it cannot be told. The change
    /// within pairs is not that of the medians.
    pub change: Option<f64>,
    /// Its 95% confidence interval, as fractions.
    pub interval: Option<[f64; 2]>,
    /// Verdict.
    pub verdict: ChangeVerdict,
}

impl JudgedChange {
    /// Returns the change with its sign and unit: `-12.3%`; `None` where it cannot be told.
    pub fn change_text(&self) -> Option<String> {
        self.change.map(|change| self.scale.change_text(change))
    }

    /// Returns the ends of the interval with their signs and units.
    pub fn interval_text(&self) -> Option<[String; 2]> {
        self.interval
            .map(|ends| ends.map(|end| self.scale.change_text(end)))
    }
}
