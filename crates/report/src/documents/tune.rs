//! `relayout/tune/2`: everything that a run tried, for scripts.

use relayout_advice::{BenchEffect, EffectSubject};
use relayout_workflows::tune::{ChangeFate, PredictedEffect, TriedChange, TuneOutcome, TuneTarget};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Document;
use crate::documents::judged_change::JudgedChangeDocument;
use crate::words::effects::outcome_words;

/// The document of `tune --json`.
#[derive(Serialize, JsonSchema)]
pub struct TuneDocument<'a> {
    /// Name and version of this document.
    schema: &'static str,
    /// The outcome in a sentence.
    outcome: String,
    /// `nothing-left`, `time` or `changes`.
    ending: &'static str,
    /// Seconds of work.
    seconds: f64,
    /// Folder of the source.
    source: String,
    /// `program` or `kernel`.
    target: &'static str,
    /// Benchmarks or workloads; the first must gain, and none may lose.
    benches: Vec<&'a str>,
    /// Machine.
    machine: TunedMachineDocument<'a>,
    /// CPUs of the guests; null for programs.
    guest_cpus: Option<u16>,
    /// Commit that the run began at.
    first_commit: &'a str,
    /// Null if nothing is kept.
    branch: Option<TunedBranchDocument<'a>>,
    /// Changes that were tried, in order.
    changes: Vec<TriedChangeDocument<'a>>,
    /// Types that were not tried.
    untried: Vec<UntriedTypeDocument<'a>>,
    /// Folder of the run.
    state: String,
    /// Sentences about the result, for people.
    notes: &'a [String],
}

impl Document for TuneDocument<'_> {
    const SCHEMA: &'static str = "relayout/tune/2";
}

/// Machine that measured.
#[derive(Serialize, JsonSchema)]
struct TunedMachineDocument<'a> {
    /// Name of the processor.
    cpu: &'a str,
    /// Number of CPUs.
    cpus: u32,
    /// True on a virtual machine.
    virtual_machine: bool,
}

#[derive(Serialize, JsonSchema)]
struct TunedBranchDocument<'a> {
    /// Name of the branch.
    name: &'a str,
    /// Hash of the commit.
    commit: &'a str,
    /// Folder of the repository.
    repository: String,
}

#[derive(Serialize, JsonSchema)]
struct UntriedTypeDocument<'a> {
    /// Name of the type, without `struct`.
    #[serde(rename = "type")]
    type_name: &'a str,
    /// Transfers that a layout saves, in percent of all.
    saved_percent: f64,
}

#[derive(Serialize, JsonSchema)]
struct TriedChangeDocument<'a> {
    /// Number, from 1.
    number: usize,
    /// Name of the type, without `struct`.
    #[serde(rename = "type")]
    type_name: &'a str,
    /// Transfers that the layout was expected to save, of all of the first benchmark.
    saved_percent: f64,
    /// Edit in words; null if no patch was made.
    edit: Option<&'a str>,
    /// First line of the commit; null without a patch.
    subject: Option<&'a str>,
    /// The patch; null without one.
    diff: Option<&'a str>,
    /// True if the change was kept.
    kept: bool,
    /// Commit of a kept change.
    commit: Option<&'a str>,
    /// `advice`, `build`, `test`, `count` or `measurement`; null for a kept change.
    rejected_at: Option<&'static str>,
    /// Reason for rejecting it; null if it was kept.
    reason: Option<&'a str>,
    /// Replays; transfers of the recordings.
    predicted: Vec<PredictedDocument<'a>>,
    /// Recordings of both builds; transfers per operation.
    counted: Vec<CountedDocument<'a>>,
    /// Measurements on the machine.
    measured: Vec<MeasuredDocument<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct PredictedDocument<'a> {
    /// Command or workload.
    bench: &'a str,
    /// Transfers of today's layout, by replay.
    before: u64,
    /// Transfers of the new layout, by replay.
    after: u64,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct CountedDocument<'a> {
    /// Command or workload.
    bench: &'a str,
    /// Null for all memory.
    #[serde(rename = "type")]
    type_name: Option<&'a str>,
    /// Transfers per operation: means of the recordings of a program, medians of boots in pairs.
    #[serde(flatten)]
    judged: JudgedChangeDocument,
    /// Number of recordings of each side.
    recordings: usize,
}

#[derive(Serialize, JsonSchema)]
struct MeasuredDocument<'a> {
    /// Command or workload.
    bench: &'a str,
    /// Name of the metric.
    metric: &'a str,
    /// Unit of the values; null if there is none.
    unit: Option<&'a str>,
    /// Medians of the metric.
    #[serde(flatten)]
    judged: JudgedChangeDocument,
    /// Number of pairs of starts.
    pairs: usize,
}

/// Makes the document of a run.
pub fn tune_document(outcome: &TuneOutcome) -> TuneDocument<'_> {
    let (target, guest_cpus) = match &outcome.settings.target {
        TuneTarget::Program(_) => ("program", None),
        TuneTarget::Kernel(kernel) => ("kernel", Some(kernel.cpus)),
    };
    TuneDocument {
        schema: TuneDocument::SCHEMA,
        outcome: outcome_words(outcome),
        ending: outcome.ending.as_str(),
        seconds: outcome.seconds,
        source: outcome.settings.source.display().to_string(),
        target,
        benches: outcome.settings.benches(),
        machine: TunedMachineDocument {
            cpu: &outcome.machine.cpu,
            cpus: outcome.machine.cpus,
            virtual_machine: outcome.machine.virtual_machine,
        },
        guest_cpus,
        first_commit: &outcome.first_commit,
        branch: outcome.branch.as_ref().map(|branch| TunedBranchDocument {
            name: &branch.name,
            commit: &branch.commit,
            repository: branch.repository.display().to_string(),
        }),
        changes: outcome.changes.iter().map(change_document).collect(),
        untried: { outcome.untried.iter() }
            .map(|ranked| UntriedTypeDocument {
                type_name: &ranked.name,
                saved_percent: 100.0 * ranked.share,
            })
            .collect(),
        state: outcome.state.display().to_string(),
        notes: &outcome.notes,
    }
}

fn change_document(change: &TriedChange) -> TriedChangeDocument<'_> {
    let description = change
        .proposal
        .as_ref()
        .map(|proposal| &proposal.description);
    let (commit, rejection) = match &change.fate {
        ChangeFate::Kept { commit } => (Some(commit.as_str()), None),
        ChangeFate::Rejected(rejection) => (None, Some(rejection)),
    };
    let predicted = change
        .proposal
        .iter()
        .flat_map(|proposal| &proposal.predicted);
    TriedChangeDocument {
        number: change.number,
        type_name: &change.ranked.name,
        saved_percent: 100.0 * change.ranked.share,
        edit: description.map(|description| description.edit.as_str()),
        subject: description.map(|description| description.subject.as_str()),
        diff: change
            .proposal
            .as_ref()
            .map(|proposal| proposal.diff.as_str()),
        kept: commit.is_some(),
        commit,
        rejected_at: rejection.map(|rejection| rejection.stage.as_str()),
        reason: rejection.map(|rejection| rejection.reason.as_str()),
        predicted: predicted.map(predicted_document).collect(),
        counted: { change.effects.iter() }
            .filter_map(counted_document)
            .collect(),
        measured: { change.effects.iter() }
            .filter_map(measured_document)
            .collect(),
    }
}

fn predicted_document(effect: &PredictedEffect) -> PredictedDocument<'_> {
    PredictedDocument {
        bench: &effect.bench,
        before: effect.before,
        after: effect.after,
    }
}

/// Returns the document of an effect on transfers; `None` for one on a metric.
pub(crate) fn counted_document(effect: &BenchEffect) -> Option<CountedDocument<'_>> {
    let is_metric = matches!(effect.subject, EffectSubject::Metric { .. });
    (!is_metric).then(|| CountedDocument {
        bench: &effect.bench,
        type_name: effect.subject.type_name(),
        judged: JudgedChangeDocument::new(&effect.judged),
        recordings: effect.samples,
    })
}

/// Returns the document of an effect on a metric; `None` for one on transfers.
fn measured_document(effect: &BenchEffect) -> Option<MeasuredDocument<'_>> {
    let EffectSubject::Metric { name, unit } = &effect.subject else {
        return None;
    };
    Some(MeasuredDocument {
        bench: &effect.bench,
        metric: name,
        unit: unit.as_deref(),
        judged: JudgedChangeDocument::new(&effect.judged),
        pairs: effect.samples,
    })
}
