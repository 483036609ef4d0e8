//! Kits and their results: what was measured beside what was predicted and counted.

use relayout_workflows::kit::{ImportedResult, PredictedChange};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Document;
use crate::documents::tune::{CountedDocument, counted_document};
use crate::documents::verify::contents::VerifyContents;
use crate::documents::verify::{VerifyDocument, verify_document};

/// The document of `verify --import --json`.
#[derive(Serialize, JsonSchema)]
pub struct KitResultDocument<'a> {
    /// Name and version of this document.
    schema: &'static str,
    /// Number of the kit.
    kit: &'a str,
    /// Number of the result.
    result: &'a str,
    /// What changes.
    subject: &'a str,
    /// Machine that measured.
    machine: KitMachineDocument<'a>,
    /// Measured on that machine.
    measured: VerifyDocument,
    /// Events that perf counted in one start of each build.
    events: Vec<EventDocument<'a>>,
    /// Replays; transfers of a recording.
    predicted: Vec<PredictedDocument<'a>>,
    /// Recordings of both builds; transfers per operation.
    counted: Vec<CountedDocument>,
    /// Predictions and counts beside what was measured.
    agreements: Vec<AgreementDocument>,
}

impl Document for KitResultDocument<'_> {
    const SCHEMA: &'static str = "relayout/kit-result/1";
}

#[derive(Serialize, JsonSchema)]
struct KitMachineDocument<'a> {
    /// Name of the processor.
    cpu: &'a str,
    /// Number of CPUs.
    cpus: u32,
    /// True on a virtual machine.
    virtual_machine: bool,
    /// Release of the running kernel.
    kernel: &'a str,
    /// CPUs that the starts were kept on, `all`, or `no` if that failed.
    pinned: &'a str,
}

#[derive(Serialize, JsonSchema)]
struct EventDocument<'a> {
    /// Name of the event, as perf calls it.
    name: &'a str,
    /// Count per start before the change; null if not counted.
    before: Option<f64>,
    /// Count per start after the change; null if not counted.
    after: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
struct PredictedDocument<'a> {
    /// Name of the type, without `struct`.
    #[serde(rename = "type")]
    type_name: &'a str,
    /// Name of the workload.
    workload: &'a str,
    /// Transfers of today's layout, by replay.
    before: u64,
    /// Transfers of the new layout, by replay.
    after: u64,
    /// Throughput over today's by number of CPUs.
    gains: Vec<PredictedGainDocument<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct PredictedGainDocument<'a> {
    /// Name of the machine.
    machine: &'a str,
    /// Number of CPUs.
    cpus: u32,
    /// Throughput after to before.
    ratio: f64,
    /// Lower end of the interval of the ratio.
    low: f64,
    /// Upper end of the interval of the ratio.
    high: f64,
}

#[derive(Serialize, JsonSchema)]
struct AgreementDocument {
    /// What was predicted or counted.
    metric: String,
    /// `hit`, `miss`, `no effect` or `undecided`.
    agreement: &'static str,
}

/// Returns the document of a result. `contents` has its starts.
pub fn kit_result_document<'a>(
    imported: &'a ImportedResult,
    contents: &'a VerifyContents<'_>,
) -> KitResultDocument<'a> {
    let (machine, evidence) = (&imported.machine, &imported.manifest.evidence);
    KitResultDocument {
        schema: KitResultDocument::SCHEMA,
        kit: &imported.manifest.id,
        result: &imported.id,
        subject: &imported.manifest.subject,
        machine: KitMachineDocument {
            cpu: &machine.cpu,
            cpus: machine.cpus,
            virtual_machine: machine.is_virtual,
            kernel: &machine.kernel,
            pinned: &machine.pinned,
        },
        measured: verify_document(contents),
        events: { imported.events.iter() }
            .map(|event| EventDocument {
                name: &event.name,
                before: event.before,
                after: event.after,
            })
            .collect(),
        predicted: evidence.predicted.iter().map(predicted_document).collect(),
        counted: evidence
            .counted
            .iter()
            .filter_map(counted_document)
            .collect(),
        agreements: { imported.ledger_entries().into_iter() }
            .map(|entry| AgreementDocument {
                metric: entry.metric,
                agreement: entry.agreement.as_str(),
            })
            .collect(),
    }
}

fn predicted_document(predicted: &PredictedChange) -> PredictedDocument<'_> {
    let gains = predicted.gains.iter().map(|gain| PredictedGainDocument {
        machine: &gain.machine,
        cpus: gain.cpus,
        ratio: gain.ratio,
        low: gain.interval[0],
        high: gain.interval[1],
    });
    PredictedDocument {
        type_name: &predicted.type_name,
        workload: &predicted.workload,
        before: predicted.before,
        after: predicted.after,
        gains: gains.collect(),
    }
}
