//! Effect of a change on one number of a benchmark.

use relayout_verify::judged_change::JudgedChange;
use serde::{Deserialize, Serialize};

/// Effect of a change on one benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchEffect {
    /// Benchmark, or workload of a kernel.
    pub bench: String,
    /// Number that changes.
    pub subject: EffectSubject,
    /// Its change. Medians in pairs of starts or boots, else means of recordings.
    #[serde(flatten)]
    pub judged: JudgedChange,
    /// True for starts or boots in pairs, of which the change is that within pairs.
    pub is_paired: bool,
    /// Pairs, or recordings of each side.
    pub samples: usize,
}

/// Number that a change changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EffectSubject {
    /// Transfers per operation on all memory.
    Memory,
    /// Transfers per operation on a type, by its name without tag.
    Type(String),
    /// A metric of a program, or the rate of a workload.
    Metric {
        /// Name of the metric.
        name: String,
        /// Unit of the metric.
        unit: Option<String>,
    },
}

impl EffectSubject {
    /// Returns transfers on a type, or on all memory.
    pub fn transfers(type_name: Option<&str>) -> Self {
        type_name.map_or(Self::Memory, |name| Self::Type(name.to_owned()))
    }

    /// Returns the type whose transfers change.
    pub fn type_name(&self) -> Option<&str> {
        match self {
            Self::Type(name) => Some(name),
            Self::Memory | Self::Metric { .. } => None,
        }
    }

    pub(super) fn is_type(&self, name: &str) -> bool {
        self.type_name() == Some(name)
    }

    fn words(&self) -> String {
        match self {
            Self::Memory => "transfers per operation".to_owned(),
            Self::Type(name) => format!("transfers on {name} per operation"),
            Self::Metric { name, .. } => name.clone(),
        }
    }

    fn number_words(&self, value: f64) -> String {
        let Self::Metric { unit, .. } = self else {
            return format!("{value:.3}");
        };
        let unit = unit
            .as_ref()
            .map_or(String::new(), |unit| format!(" {unit}"));
        match value.abs() {
            1e5.. => format!("{:.3}e6{unit}", value / 1e6),
            100.0.. => format!("{value:.0}{unit}"),
            _ => format!("{value:.4}{unit}"),
        }
    }
}

impl BenchEffect {
    /// Returns the effect in words.
    ///
    /// Of recordings: `transfers on dentry per operation from 2.100 to 0.400 (-81.0%, 95% interval -83.0% to -79.0%)`.
    /// In pairs, whose change is not that of the medians: `rate: median 12.500e6 before and 16.900e6 after; within pairs
    /// +35.0%, 95% interval +34.0% to +36.0%`.
    pub fn words(&self) -> String {
        let subject = self.subject.words();
        let before = self.subject.number_words(self.judged.before);
        let after = self.subject.number_words(self.judged.after);
        let interval = self.judged.interval_text();
        let name = self.judged.basis.interval_name();
        let interval = interval.map(|[low, high]| format!(", {name} {low} to {high}"));
        let change =
            { self.judged.change_text() }.map(|change| change + &interval.unwrap_or_default());
        match (self.is_paired, change) {
            (true, Some(change)) => {
                format!(
                    "{subject}: median {before} before and {after} after; within pairs {change}"
                )
            }
            (true, None) => format!("{subject}: median {before} before and {after} after"),
            (false, Some(change)) => format!("{subject} from {before} to {after} ({change})"),
            (false, None) => format!("{subject} from {before} to {after}"),
        }
    }
}
