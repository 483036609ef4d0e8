//! Kits and their results: what was measured beside what was predicted and counted.

use relayout_verify::judged_change::ChangeVerdict;
use relayout_workflows::kit::{Agreement, ImportedResult, KitEvidence, PredictedChange};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Document;
use crate::documents::tune::{CountedDocument, counted_document};
use crate::documents::verify::contents::VerifyContents;
use crate::documents::verify::{VerifyDocument, verify_document};

/// The document of `verify --import --json`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct KitResultDocument {
    /// Name and version of this document.
    pub(crate) schema: String,
    /// Number of the kit.
    pub(crate) kit: String,
    /// Number of the result.
    pub(crate) result: String,
    /// What changes.
    pub(crate) subject: String,
    /// Machine that measured.
    pub(crate) machine: KitMachineDocument,
    /// Measured on that machine.
    pub(crate) measured: VerifyDocument,
    /// Events that perf counted in one start of each build.
    pub(crate) events: Vec<EventDocument>,
    /// Replays; transfers of a recording.
    pub(crate) predicted: Vec<PredictedDocument>,
    /// Recordings of both builds; transfers per operation.
    pub(crate) counted: Vec<CountedDocument>,
    /// `better` or `worse`, by predictions and counts; null if these say nothing.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub(crate) expected: Option<ChangeVerdict>,
    /// Predictions and counts beside each metric that was measured, in the order of the metrics.
    pub(crate) agreements: Vec<AgreementDocument>,
}

impl Document for KitResultDocument {
    const SCHEMA: &'static str = "relayout/kit-result/1";
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct KitMachineDocument {
    /// Name of the processor.
    pub(crate) cpu: String,
    /// Number of CPUs.
    pub(crate) cpus: u32,
    /// True on a virtual machine.
    pub(crate) virtual_machine: bool,
    /// Release of the running kernel.
    pub(crate) kernel: String,
    /// CPUs that the starts were kept on, `all`, or `no` if that failed.
    pub(crate) pinned: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct EventDocument {
    /// Name of the event, as perf calls it.
    pub(crate) name: String,
    /// Count per start before the change; null if not counted.
    pub(crate) before: Option<f64>,
    /// Count per start after the change; null if not counted.
    pub(crate) after: Option<f64>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct PredictedDocument {
    /// Name of the type, without `struct`.
    #[serde(rename = "type")]
    pub(crate) type_name: String,
    /// Name of the workload.
    pub(crate) workload: String,
    /// Transfers of today's layout, by replay.
    pub(crate) before: u64,
    /// Transfers of the new layout, by replay.
    pub(crate) after: u64,
    /// Throughput over today's by number of CPUs.
    pub(crate) gains: Vec<PredictedGainDocument>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct PredictedGainDocument {
    /// Name of the machine.
    pub(crate) machine: String,
    /// Number of CPUs.
    pub(crate) cpus: u32,
    /// Throughput after to before.
    pub(crate) ratio: f64,
    /// Lower end of the interval of the ratio.
    pub(crate) low: f64,
    /// Upper end of the interval of the ratio.
    pub(crate) high: f64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AgreementDocument {
    /// What was predicted or counted.
    pub(crate) metric: String,
    /// `hit`, `miss`, `no effect` or `undecided`.
    #[schemars(with = "String")]
    #[serde(with = "agreement_word")]
    pub(crate) agreement: Agreement,
}

/// Returns the document of a result. `contents` has its starts.
pub fn kit_result_document(
    imported: &ImportedResult,
    contents: &VerifyContents<'_>,
) -> KitResultDocument {
    let (machine, evidence) = (&imported.machine, &imported.manifest.evidence);
    KitResultDocument {
        schema: KitResultDocument::SCHEMA.to_owned(),
        kit: imported.manifest.id.clone(),
        result: imported.id.clone(),
        subject: imported.manifest.subject.clone(),
        machine: KitMachineDocument {
            cpu: machine.cpu.clone(),
            cpus: machine.cpus,
            virtual_machine: machine.is_virtual,
            kernel: machine.kernel.clone(),
            pinned: machine.pinned.clone(),
        },
        measured: verify_document(contents),
        events: { imported.events.iter() }
            .map(|event| EventDocument {
                name: event.name.clone(),
                before: event.before,
                after: event.after,
            })
            .collect(),
        predicted: predicted_documents(evidence),
        counted: counted_documents(evidence),
        expected: evidence.expects_gain().map(|is_gain| match is_gain {
            true => ChangeVerdict::Better,
            false => ChangeVerdict::Worse,
        }),
        agreements: { imported.ledger_entries().into_iter() }
            .map(|entry| AgreementDocument {
                metric: entry.metric,
                agreement: entry.agreement,
            })
            .collect(),
    }
}

/// Returns what was predicted before a measurement.
pub(crate) fn predicted_documents(evidence: &KitEvidence) -> Vec<PredictedDocument> {
    evidence.predicted.iter().map(predicted_document).collect()
}

/// Returns what was counted before a measurement.
pub(crate) fn counted_documents(evidence: &KitEvidence) -> Vec<CountedDocument> {
    { evidence.counted.iter() }
        .filter_map(counted_document)
        .collect()
}

fn predicted_document(predicted: &PredictedChange) -> PredictedDocument {
    let gains = predicted.gains.iter().map(|gain| PredictedGainDocument {
        machine: gain.machine.clone(),
        cpus: gain.cpus,
        ratio: gain.ratio,
        low: gain.interval[0],
        high: gain.interval[1],
    });
    PredictedDocument {
        type_name: predicted.type_name.clone(),
        workload: predicted.workload.clone(),
        before: predicted.before,
        after: predicted.after,
        gains: gains.collect(),
    }
}

/// An agreement as a word of the document. A ledger has words of its own.
mod agreement_word {
    use relayout_workflows::kit::Agreement;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(kind: &Agreement, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(kind.as_str())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Agreement, D::Error> {
        let word = String::deserialize(from)?;
        let known = { Agreement::ALL.into_iter() }.find(|agreement| agreement.as_str() == word);
        known.ok_or_else(|| D::Error::custom(format!("no agreement: {word}")))
    }
}
