//! Knowledge of a change before it is measured: a prediction by replay, counts of recordings.

use std::path::Path;

use relayout_advice::BenchEffect;
use relayout_contend::strip_type_tag;
use relayout_files::{cannot, read_regular_text};
use relayout_messages::{RecordingProgress, UserError};
use relayout_verify::judged_change::ChangeVerdict;
use serde::{Deserialize, Serialize};

use crate::compare::{CompareSettings, ComparedSide, compare_sides};
use crate::tune::counted_effect;

/// Schema of the documents that `advise` writes.
const ADVICE_SCHEMA: &str = "relayout/advise/1";

/// What is known of a change before it is measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KitEvidence {
    /// Predictions by replay, one for each type.
    pub predicted: Vec<PredictedChange>,
    /// Counts of recordings of both builds.
    pub counted: Vec<BenchEffect>,
}

/// Transfers on a type by replaying a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictedChange {
    /// Type.
    pub type_name: String,
    /// Workload of the recording.
    pub workload: String,
    /// Transfers in the recording.
    pub before: u64,
    /// Transfers with the layout.
    pub after: u64,
    /// Predicted gains in throughput by number of CPUs: 1.2 for a fifth more.
    pub gains: Vec<PredictedGain>,
}

/// Predicted gain in throughput on so many CPUs of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictedGain {
    /// Machine of the model.
    pub machine: String,
    /// CPUs.
    pub cpus: u32,
    /// Throughput with the change, divided by that without.
    pub ratio: f64,
    /// Interval of the ratio.
    pub interval: [f64; 2],
}

impl KitEvidence {
    /// Compares recordings of both builds, and keeps all memory and the types that changed.
    ///
    /// # Errors
    /// The profiles cannot be compared.
    pub fn count(
        profiles: [&Path; 2],
        progress: &dyn RecordingProgress,
    ) -> Result<Vec<BenchEffect>, UserError> {
        let [old, new] = profiles.map(|profile| ComparedSide::read(profile, &[], progress));
        let (old, new) = (old?, new?);
        let settings = CompareSettings::default();
        let comparison = compare_sides(&old, &new, &settings, progress)?;
        let mut counted = Vec::new();
        for workload in &comparison.workloads {
            let name = workload.workload.to_string();
            counted.push(counted_effect(&name, None, &workload.total));
            for subject in &workload.subjects {
                let type_name = strip_type_tag(subject.subject.type_name());
                let effect = counted_effect(&name, Some(type_name), &subject.rate);
                let verdict = effect.judged.verdict;
                if matches!(verdict, ChangeVerdict::Better | ChangeVerdict::Worse) {
                    counted.push(effect);
                }
            }
        }
        Ok(counted)
    }

    /// Reads the recommended layouts of a document that `advise --json` wrote.
    ///
    /// # Errors
    /// The file cannot be read, or is no such document.
    pub fn read_advice(path: &Path) -> Result<Vec<PredictedChange>, UserError> {
        let text = read_regular_text(path).map_err(cannot("read", path))?;
        let foreign = |why: &str| {
            let path = path.display();
            UserError::input(format!("{path} is no advice to keep with a kit: {why}"))
                .with_remedy("`relayout advise --json` writes one")
        };
        let advice: AdviceDocument =
            serde_json::from_str(&text).map_err(|error| foreign(&error.to_string()))?;
        if advice.schema != ADVICE_SCHEMA {
            return Err(foreign(&format!("its schema is '{}'", advice.schema)));
        }
        let predicted: Vec<PredictedChange> = { advice.types.into_iter() }
            .filter_map(|advised| advised.predicted(&advice.workload))
            .collect();
        match predicted.is_empty() {
            true => Err(foreign("it recommends no layout")),
            false => Ok(predicted),
        }
    }
}

/// Parts of a document of `advise` that matter here.
#[derive(Deserialize)]
struct AdviceDocument {
    schema: String,
    workload: String,
    types: Vec<AdvisedDocument>,
}

#[derive(Deserialize)]
struct AdvisedDocument {
    name: String,
    current: Option<LayoutDocument>,
    #[serde(default)]
    candidates: Vec<LayoutDocument>,
    recommended: Option<usize>,
}

#[derive(Deserialize)]
struct LayoutDocument {
    transfers: u64,
    predicted_curve: Option<CurveDocument>,
}

#[derive(Deserialize)]
struct CurveDocument {
    machine: String,
    curve: Vec<CurvePointDocument>,
}

#[derive(Deserialize)]
struct CurvePointDocument {
    cpus: u32,
    ratio: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

impl AdvisedDocument {
    fn predicted(mut self, workload: &str) -> Option<PredictedChange> {
        let index = self
            .recommended
            .filter(|&index| index < self.candidates.len())?;
        let layout = self.candidates.swap_remove(index);
        let gains = layout.predicted_curve.map_or(Vec::new(), |curve| {
            // A gain without draws of the machine's rules has no interval, and is not held against a measurement.
            let gain = |point: CurvePointDocument| {
                Some(PredictedGain {
                    machine: curve.machine.clone(),
                    cpus: point.cpus,
                    ratio: point.ratio?,
                    interval: [point.low?, point.high?],
                })
            };
            curve.curve.into_iter().filter_map(gain).collect()
        });
        Some(PredictedChange {
            type_name: self.name,
            workload: workload.to_owned(),
            before: self.current?.transfers,
            after: layout.transfers,
            gains,
        })
    }
}
