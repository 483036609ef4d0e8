//! `relayout/tune/2`: everything that a run tried, for scripts.

use relayout_advice::{BenchEffect, EffectSubject, effects_of};
use relayout_probe::MachineIdentity;
use relayout_verify::judged_change::ChangeBasis;
use relayout_workflows::tune::{ChangeFate, PredictedEffect, TriedChange, TuneOutcome, TuneTarget};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Document;
use crate::documents::judged_change::JudgedChangeDocument;
use crate::words::effects::{guest_cpus, guest_machine, outcome_words};

/// The document of `tune --json`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TuneDocument {
    /// Name and version of this document.
    pub(crate) schema: String,
    /// The outcome in a sentence.
    pub(crate) outcome: String,
    /// `nothing-left`, `time` or `changes`.
    pub(crate) ending: String,
    /// Seconds of work.
    pub(crate) seconds: f64,
    /// Folder of the source.
    pub(crate) source: String,
    /// `program` or `kernel`.
    pub(crate) target: String,
    /// Benchmarks or workloads; the first must gain, and none may lose.
    pub(crate) benches: Vec<String>,
    /// Machine that measured.
    pub(crate) machine: MachineIdentity,
    /// CPUs of the guests; null for programs.
    pub(crate) guest_cpus: Option<u16>,
    /// Machine in whose simulated time the guests executed; null for programs and for the order of the host.
    #[serde(default)]
    pub(crate) guest_machine: Option<String>,
    /// Commit that the run began at.
    pub(crate) first_commit: String,
    /// Null if nothing is kept.
    pub(crate) branch: Option<TunedBranchDocument>,
    /// Changes that were tried, in order.
    pub(crate) changes: Vec<TriedChangeDocument>,
    /// Types that were not tried.
    pub(crate) untried: Vec<UntriedTypeDocument>,
    /// Folder of the run.
    pub(crate) state: String,
    /// Sentences about the result, for people.
    pub(crate) notes: Vec<String>,
}

impl Document for TuneDocument {
    const SCHEMA: &'static str = "relayout/tune/2";
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TunedBranchDocument {
    /// Name of the branch.
    pub(crate) name: String,
    /// Hash of the commit.
    pub(crate) commit: String,
    /// Folder of the repository.
    pub(crate) repository: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct UntriedTypeDocument {
    /// Name of the type, without `struct`.
    #[serde(rename = "type")]
    pub(crate) type_name: String,
    /// Transfers that a layout saves, in percent of all.
    pub(crate) saved_percent: f64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TriedChangeDocument {
    /// Number, from 1.
    pub(crate) number: usize,
    /// Name of the type, without `struct`.
    #[serde(rename = "type")]
    pub(crate) type_name: String,
    /// Transfers that the layout was expected to save, of all of the first benchmark.
    pub(crate) saved_percent: f64,
    /// Edit in words; null if no patch was made.
    pub(crate) edit: Option<String>,
    /// First line of the commit; null without a patch.
    pub(crate) subject: Option<String>,
    /// The patch; null without one.
    pub(crate) diff: Option<String>,
    /// True if the change was kept.
    pub(crate) kept: bool,
    /// Commit of a kept change.
    pub(crate) commit: Option<String>,
    /// `advice`, `build`, `test`, `count`, `simulation` or `measurement`; null for a kept change.
    pub(crate) rejected_at: Option<String>,
    /// Reason for rejecting it; null if it was kept.
    pub(crate) reason: Option<String>,
    /// Replays; transfers of the recordings.
    pub(crate) predicted: Vec<PredictedDocument>,
    /// Recordings of both builds; transfers per operation.
    pub(crate) counted: Vec<CountedDocument>,
    /// Rates of both builds on a machine in simulated time.
    #[serde(default)]
    pub(crate) simulated: Vec<MetricEffectDocument>,
    /// Measurements on the machine.
    pub(crate) measured: Vec<MetricEffectDocument>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct PredictedDocument {
    /// Command or workload.
    pub(crate) bench: String,
    /// Transfers of today's layout, by replay.
    pub(crate) before: u64,
    /// Transfers of the new layout, by replay.
    pub(crate) after: u64,
    /// The effect in words: `64868 to 0 transfers (-100.0%)`.
    #[serde(default)]
    pub(crate) words: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct CountedDocument {
    /// Command or workload.
    pub(crate) bench: String,
    /// Null for all memory.
    #[serde(rename = "type")]
    pub(crate) type_name: Option<String>,
    /// The effect in words: `transfers per operation from 2.100 to 0.400 (-81.0%)`.
    #[serde(default)]
    pub(crate) words: String,
    /// Transfers per operation: means of the recordings of a program, medians of boots in pairs.
    #[serde(flatten)]
    pub(crate) judged: JudgedChangeDocument,
    /// Number of recordings of each side.
    pub(crate) recordings: usize,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct MetricEffectDocument {
    /// Command or workload.
    pub(crate) bench: String,
    /// Name of the metric.
    pub(crate) metric: String,
    /// Unit of the values; null if there is none.
    pub(crate) unit: Option<String>,
    /// The effect in words: `rate: median 1000 before and 1500 after; within pairs +50.0%`.
    #[serde(default)]
    pub(crate) words: String,
    /// Medians of the metric.
    #[serde(flatten)]
    pub(crate) judged: JudgedChangeDocument,
    /// Number of pairs of starts, or boots.
    pub(crate) pairs: usize,
}

/// Makes the document of a run.
pub fn tune_document(outcome: &TuneOutcome) -> TuneDocument {
    let settings = &outcome.settings;
    let target = match &settings.target {
        TuneTarget::Program(_) => "program",
        TuneTarget::Kernel(_) => "kernel",
    };
    TuneDocument {
        schema: TuneDocument::SCHEMA.to_owned(),
        outcome: outcome_words(outcome),
        ending: outcome.ending.as_str().to_owned(),
        seconds: outcome.seconds,
        source: settings.source.display().to_string(),
        target: target.to_owned(),
        benches: settings.benches().into_iter().map(str::to_owned).collect(),
        machine: outcome.machine.clone(),
        guest_cpus: guest_cpus(settings),
        guest_machine: guest_machine(settings),
        first_commit: outcome.first_commit.clone(),
        branch: outcome.branch.as_ref().map(|branch| TunedBranchDocument {
            name: branch.name.clone(),
            commit: branch.commit.clone(),
            repository: branch.repository.display().to_string(),
        }),
        changes: outcome.changes.iter().map(change_document).collect(),
        untried: { outcome.untried.iter() }
            .map(|ranked| UntriedTypeDocument {
                type_name: ranked.name.clone(),
                saved_percent: 100.0 * ranked.share,
            })
            .collect(),
        state: outcome.state.display().to_string(),
        notes: outcome.notes.clone(),
    }
}

fn change_document(change: &TriedChange) -> TriedChangeDocument {
    let description = change
        .proposal
        .as_ref()
        .map(|proposal| &proposal.description);
    let (commit, rejection) = match &change.fate {
        ChangeFate::Kept { commit } => (Some(commit.clone()), None),
        ChangeFate::Rejected(rejection) => (None, Some(rejection)),
    };
    let predicted = change
        .proposal
        .iter()
        .flat_map(|proposal| &proposal.predicted);
    TriedChangeDocument {
        number: change.number,
        type_name: change.ranked.name.clone(),
        saved_percent: 100.0 * change.ranked.share,
        edit: description.map(|description| description.edit.clone()),
        subject: description.map(|description| description.subject.clone()),
        diff: change
            .proposal
            .as_ref()
            .map(|proposal| proposal.diff.clone()),
        kept: commit.is_some(),
        commit,
        rejected_at: rejection.map(|rejection| rejection.stage.as_str().to_owned()),
        reason: rejection.map(|rejection| rejection.reason.clone()),
        predicted: predicted.map(predicted_document).collect(),
        counted: { change.effects.iter() }
            .filter_map(counted_document)
            .collect(),
        simulated: metric_documents(&change.effects, ChangeBasis::Simulated),
        measured: metric_documents(&change.effects, ChangeBasis::Measured),
    }
}

fn predicted_document(effect: &PredictedEffect) -> PredictedDocument {
    PredictedDocument {
        bench: effect.bench.clone(),
        before: effect.before,
        after: effect.after,
        words: effect.words(),
    }
}

/// Returns the document of an effect on transfers; `None` for one on a metric.
pub(crate) fn counted_document(effect: &BenchEffect) -> Option<CountedDocument> {
    let is_metric = matches!(effect.subject, EffectSubject::Metric { .. });
    (!is_metric).then(|| CountedDocument {
        bench: effect.bench.clone(),
        type_name: effect.subject.type_name().map(str::to_owned),
        words: effect.words(),
        judged: JudgedChangeDocument::new(&effect.judged),
        recordings: effect.samples,
    })
}

fn metric_documents(effects: &[BenchEffect], basis: ChangeBasis) -> Vec<MetricEffectDocument> {
    let of_basis = effects_of(effects, basis).into_iter();
    of_basis.filter_map(metric_document).collect()
}

/// Returns the document of an effect on a metric; `None` for one on transfers.
fn metric_document(effect: &BenchEffect) -> Option<MetricEffectDocument> {
    let EffectSubject::Metric { name, unit } = &effect.subject else {
        return None;
    };
    Some(MetricEffectDocument {
        bench: effect.bench.clone(),
        metric: name.clone(),
        unit: unit.clone(),
        words: effect.words(),
        judged: JudgedChangeDocument::new(&effect.judged),
        pairs: effect.samples,
    })
}
