//! `relayout/verify/1`: an experiment for scripts.

use relayout_session::verify::JudgedRuns;
use relayout_verify::judge::{ChangeScale, ExperimentOutcome, JudgedMetric, SideSummary};
use relayout_verify::metric::BetterDirection;
use relayout_verify::runs::{ExperimentEnding, ExperimentRuns, ExperimentSetup, StartFate};
use schemars::JsonSchema;
use serde::Serialize;

use super::VerifyContents;
use crate::Document;

/// The document of `verify --json`, of programs and of kernels.
#[derive(Default, Serialize, JsonSchema)]
pub struct VerifyDocument<'a> {
    pub(super) schema: &'static str,
    pub(super) verdict: &'static str,
    pub(super) metrics: Vec<MetricDocument<'a>>,
    /// Metrics that tell where a change comes from, and are no part of the verdict.
    pub(super) details: Vec<MetricDocument<'a>>,
    pub(super) comparisons: usize,
    pub(super) pairs: usize,
    pub(super) pairs_planned: usize,
    pub(super) ending: &'static str,
    /// Numbers of starts, of programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) starts: Option<StartsDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) after: Option<&'a str>,
    pub(super) patch: Option<&'a str>,
    /// The source has the patch, of kernels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reverse: Option<bool>,
    pub(super) seed: u64,
    #[serde(rename = "yield", skip_serializing_if = "Option::is_none")]
    pub(super) yield_every: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) release: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kernels: Option<KernelPairDocument>,
    /// Types that the patch lays out differently.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) types: Option<Vec<ChangedTypeDocument<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) predictions: Option<Vec<PredictionDocument<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) words: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cpus: Option<&'a [usize]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fifo: Option<bool>,
    pub(super) notes: Vec<String>,
}

impl Document for VerifyDocument<'_> {
    const SCHEMA: &'static str = "relayout/verify/1";
}

#[derive(Serialize, JsonSchema)]
pub(super) struct MetricDocument<'a> {
    name: &'a str,
    unit: Option<&'a str>,
    better: &'static str,
    before: SideDocument,
    after: SideDocument,
    change_percent: Option<f64>,
    ci95_percent: Option<[f64; 2]>,
    change_is: &'static str,
    p_value: Option<f64>,
    margin_percent: f64,
    /// Smallest margin with which the interval would give "same".
    margin_reached_percent: Option<f64>,
    /// No value of one side lies within those of the other.
    ranges_apart: bool,
    verdict: &'static str,
    why: Option<&'static str>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct SideDocument {
    median: f64,
    mean: f64,
    stddev_percent: Option<f64>,
    min: f64,
    max: f64,
    n: usize,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct StartsDocument {
    total: usize,
    kept: usize,
    kept_disturbed: usize,
    disturbed: usize,
    said_disturbed: usize,
    warm_up: usize,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct KernelPairDocument {
    pub(super) before: BuiltKernelDocument,
    pub(super) after: BuiltKernelDocument,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct BuiltKernelDocument {
    pub(super) image: String,
    pub(super) debug: String,
    pub(super) config: String,
    /// Null for a kernel that was built before.
    pub(super) build_seconds: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct ChangedTypeDocument<'a> {
    pub(super) name: &'a str,
    pub(super) old_size: u64,
    pub(super) new_size: u64,
    pub(super) members: Vec<MovedMemberDocument<'a>>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct MovedMemberDocument<'a> {
    pub(super) name: &'a str,
    pub(super) old_offset: u64,
    pub(super) new_offset: u64,
}

/// Replay of one type in one setting, or the reason why there is none.
#[derive(Serialize, JsonSchema)]
pub(super) struct PredictionDocument<'a> {
    #[serde(rename = "type")]
    pub(super) type_name: &'a str,
    pub(super) setting: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) refused: Option<&'a str>,
    #[serde(flatten)]
    pub(super) replayed: Option<ReplayedDocument>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct ReplayedDocument {
    pub(super) before: ReplayedSideDocument,
    pub(super) after: ReplayedSideDocument,
    pub(super) change_percent: Option<f64>,
    pub(super) ci95_percent: Option<[f64; 2]>,
    /// Members come together of which not all was recorded.
    pub(super) partial: bool,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct ReplayedSideDocument {
    pub(super) transfers: u64,
    pub(super) false_first_touch: u64,
}

/// Makes the document of an experiment with programs.
pub fn verify_document<'a>(contents: &VerifyContents<'a>) -> VerifyDocument<'a> {
    let runs = contents.runs;
    let setup = &runs.setup;
    VerifyDocument {
        starts: Some(starts_document(runs)),
        before: Some(&setup.before),
        after: Some(&setup.after),
        cpus: Some(&setup.cpus),
        fifo: Some(setup.fifo),
        notes: contents.all_notes(),
        ..judged_document(setup, runs.ending, contents.judged)
    }
}

/// Makes the part of the document that programs and kernels share.
pub(super) fn judged_document<'a>(
    setup: &'a ExperimentSetup,
    ending: ExperimentEnding,
    judged: &'a JudgedRuns,
) -> VerifyDocument<'a> {
    let outcome = &judged.outcome;
    VerifyDocument {
        schema: VerifyDocument::SCHEMA,
        verdict: outcome.verdict.as_str(),
        metrics: metric_documents(outcome),
        details: metric_documents(&judged.details),
        comparisons: outcome.metrics.len(),
        pairs: outcome.pairs,
        pairs_planned: setup.pairs,
        ending: ending_word(ending),
        patch: setup.patch.as_deref(),
        seed: setup.seed,
        ..VerifyDocument::default()
    }
}

fn ending_word(ending: ExperimentEnding) -> &'static str {
    match ending {
        ExperimentEnding::Complete => "complete",
        ExperimentEnding::Decided => "decided",
        ExperimentEnding::Budget => "budget",
        ExperimentEnding::CutOff => "cut-off",
    }
}

fn starts_document(runs: &ExperimentRuns) -> StartsDocument {
    let kept_disturbed = runs.count_fate(StartFate::KeptDisturbed);
    StartsDocument {
        total: runs.starts.len(),
        kept: runs.count_fate(StartFate::Kept) + kept_disturbed,
        kept_disturbed,
        disturbed: runs.count_fate(StartFate::Disturbed),
        said_disturbed: runs.count_fate(StartFate::SaidDisturbed),
        warm_up: runs.count_fate(StartFate::WarmUp),
    }
}

fn metric_documents(outcome: &ExperimentOutcome) -> Vec<MetricDocument<'_>> {
    outcome.metrics.iter().map(metric_document).collect()
}

fn metric_document(metric: &JudgedMetric) -> MetricDocument<'_> {
    let percent = |fraction: f64| 100.0 * fraction;
    MetricDocument {
        name: &metric.description.name,
        unit: metric.description.unit.as_deref(),
        better: match metric.description.better {
            BetterDirection::Higher => "higher",
            BetterDirection::Lower => "lower",
        },
        before: side_document(&metric.before),
        after: side_document(&metric.after),
        change_percent: metric.change.map(percent),
        ci95_percent: metric.interval.map(|ends| ends.map(percent)),
        change_is: match metric.scale {
            ChangeScale::Ratio => "ratio",
            ChangeScale::Points => "points",
            ChangeScale::Difference => "difference",
        },
        p_value: metric.p_value,
        margin_percent: percent(metric.margin),
        margin_reached_percent: metric.margin_reached.map(percent),
        ranges_apart: metric.before.is_apart_from(&metric.after),
        verdict: metric.verdict.as_str(),
        why: metric.why,
    }
}

fn side_document(summary: &SideSummary) -> SideDocument {
    SideDocument {
        median: summary.median,
        mean: summary.mean,
        stddev_percent: summary.stddev_percent,
        min: summary.min,
        max: summary.max,
        n: summary.count,
    }
}
