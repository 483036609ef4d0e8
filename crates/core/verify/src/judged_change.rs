//! Change of a number from before to after, with its verdict and with how the numbers came about.

use serde::{Deserialize, Serialize};

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

    /// Returns the name of the intervals of such changes: of simulated ones, the bounds of the draws of a machine's rules.
    pub fn interval_name(self) -> &'static str {
        match self {
            Self::Simulated => "draws",
            Self::Measured | Self::Counted | Self::Replayed => "95% interval",
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

/// Verdict on one metric, or on the whole experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeVerdict {
    /// The change is an improvement.
    Better,
    /// The change is a regression.
    Worse,
    /// The confidence interval of the change lies within the margin.
    Same,
    /// The interval contains both 0 and changes beyond the margin, or the starts are too few.
    Unclear,
}

impl ChangeVerdict {
    /// Name of the verdict in documents and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same => "same",
            Self::Unclear => "unclear",
        }
    }
}

/// Unit in which a change is expressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeScale {
    /// Ratio of after to before, less 1.
    Ratio,
    /// Difference of two percentages, divided by 100: 0.01 is one percentage point.
    Points,
    /// Difference as a fraction of the median of the side before. It applies if a
    /// value is 0 or negative, or if a ratio is not a finite number above 0.
    Difference,
}

impl ChangeScale {
    /// Name of the unit in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ratio => "ratio",
            Self::Points => "points",
            Self::Difference => "difference",
        }
    }

    /// Formats a change with its sign, in percent or percentage points.
    pub fn change_text(self, fraction: f64) -> String {
        self.percent_text(100.0 * fraction)
    }

    /// Formats a change of so many percent or percentage points with its sign.
    pub fn percent_text(self, percent: f64) -> String {
        let unit = if self == Self::Points { "" } else { "%" };
        format!("{percent:+.1}{unit}")
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
