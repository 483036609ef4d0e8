//! What a layout brings in simulated time, by the number of CPUs.

use relayout_advice::{MostWaited, SimulatedChange, SimulatedPoint, SimulatedWindow};
use relayout_profile::SimulatedMachineName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::documents::rates::RuleValue;
use crate::documents::time_shares::TimeShares;
use crate::words::simulated_time::simulated_machine_words;

/// The recorded guest, executed in simulated time as it was and with a given layout.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedCurveDocument {
    /// Name of the layout.
    pub layout: String,
    /// How the numbers came about: `simulated`. Nothing of them is measured.
    pub basis: String,
    /// Name of the machine.
    pub machine: String,
    /// Machine and what was left out, in words.
    pub machine_words: String,
    /// Rules with another value than the expected one.
    pub(crate) rules: Vec<RuleValue>,
    /// CPUs up to which gains without locks were held against published ones. Points beyond are an extrapolation.
    pub published_to: u16,
    /// Points by the number of CPUs.
    pub curve: Vec<SimulatedPointDocument>,
}

/// What decides between layouts: the point of their curves with the most CPUs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedRatioDocument {
    /// CPUs of the guest.
    pub cpus: u16,
    /// Operations a second with the layout over those of today; null if a window is empty.
    pub ratio: Option<f64>,
    /// Lower bound of `ratio` and of the draws of the machine's rules, of which at most a tenth is left out; null without draws.
    pub low: Option<f64>,
    /// Upper bound.
    pub high: Option<f64>,
    /// What the draws agree on: `better`, `worse`, `same` or `unclear`.
    pub verdict: String,
}

/// Windows with a number of CPUs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedPointDocument {
    /// CPUs of the guest.
    pub cpus: u16,
    /// True beyond `published_to`.
    pub extrapolated: bool,
    /// Operations a second with the layout over those of today; null if a window is empty.
    pub ratio: Option<f64>,
    /// Lower bound of `ratio` and of the draws of the machine's rules, of which at most a tenth is left out; null without draws.
    pub low: Option<f64>,
    /// Upper bound.
    pub high: Option<f64>,
    /// Number of draws.
    pub draws: usize,
    /// Part of the type's recorded transfers on objects that stayed as they are, in percent.
    pub unmapped_percent: f64,
    /// True if CPUs wait for locks, and the window is too short to tell the rate that they settle at.
    pub too_short: bool,
    /// What the draws agree on: `better`, `worse`, `same` or `unclear`.
    pub verdict: String,
    /// With today's layout.
    pub today: SimulatedWindowDocument,
    /// With the given one.
    pub then: SimulatedWindowDocument,
}

/// A window with the expected rules.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedWindowDocument {
    /// Simulated time of the window in nanoseconds.
    pub window_ns: u64,
    /// Operations a second; null if the window is empty.
    pub operations_per_second: Option<f64>,
    /// What CPUs did.
    pub(crate) time: TimeShares,
    /// Events of the host that broke the order of accesses; without any, the window is the same each time.
    #[serde(default)]
    pub order_breaks: u64,
    /// Lock, or else line, for which CPUs stood still longest; null if they did not.
    pub most_waited: Option<MostWaitedDocument>,
}

/// A lock or line for which CPUs stood still.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MostWaitedDocument {
    /// Its name.
    pub name: String,
    /// Share of the CPUs' time in percent.
    pub percent: f64,
}

impl SimulatedCurveDocument {
    pub(crate) fn new(layout: &str, change: &SimulatedChange) -> Self {
        let SimulatedMachineName { key, rules, .. } = &change.machine;
        Self {
            layout: layout.to_owned(),
            basis: "simulated".to_owned(),
            machine: key.clone(),
            machine_words: simulated_machine_words(&change.machine),
            rules: rules.iter().cloned().map(RuleValue::from).collect(),
            published_to: SimulatedChange::PUBLISHED_CPUS,
            curve: { change.points.iter() }
                .map(SimulatedPointDocument::from)
                .collect(),
        }
    }

    /// Returns what decides between this layout and others; `None` without points.
    pub(crate) fn deciding_ratio(&self) -> Option<SimulatedRatioDocument> {
        let point = self.curve.iter().max_by_key(|point| point.cpus)?;
        Some(SimulatedRatioDocument {
            cpus: point.cpus,
            ratio: point.ratio,
            low: point.low,
            high: point.high,
            verdict: point.verdict.clone(),
        })
    }
}

impl From<&SimulatedPoint> for SimulatedPointDocument {
    fn from(point: &SimulatedPoint) -> Self {
        let (low, high) = point.ratio.interval().unzip();
        Self {
            cpus: point.cpus,
            extrapolated: point.cpus > SimulatedChange::PUBLISHED_CPUS,
            ratio: point.ratio.expected,
            low,
            high,
            draws: point.ratio.drawn.len(),
            unmapped_percent: 100.0 * point.unmapped_share,
            too_short: point.is_too_short(),
            verdict: point.verdict().word().to_owned(),
            today: SimulatedWindowDocument::from(&point.today),
            then: SimulatedWindowDocument::from(&point.then),
        }
    }
}

impl From<&SimulatedWindow> for SimulatedWindowDocument {
    fn from(window: &SimulatedWindow) -> Self {
        let waited = |MostWaited { name, share }: &MostWaited| MostWaitedDocument {
            name: name.clone(),
            percent: 100.0 * share,
        };
        Self {
            window_ns: window.length.as_nanos() as u64,
            operations_per_second: window.operations_per_second,
            time: TimeShares::from(window.times),
            order_breaks: window.order_breaks,
            most_waited: window.most_waited.as_ref().map(waited),
        }
    }
}
