//! `relayout/verify/1`: an experiment for scripts.

pub mod contents;

use relayout_verify::judge::{ExperimentOutcome, JudgedMetric, SideSummary};
use relayout_verify::metric::BetterDirection;
use relayout_verify::runs::{ExperimentEnding, ExperimentRuns, ExperimentSetup, StartFate};
use relayout_workflows::verify::JudgedRuns;
use schemars::JsonSchema;
use serde::Serialize;

use crate::Document;
use crate::documents::verify::contents::VerifyContents;

/// The document of `verify --json`, of programs and of kernels.
#[derive(Default, Serialize, JsonSchema)]
pub struct VerifyDocument<'a> {
    /// Name and version of this document.
    pub(crate) schema: &'static str,
    /// Verdict over all metrics.
    pub(crate) verdict: &'static str,
    /// Metrics.
    pub(crate) metrics: Vec<MetricDocument<'a>>,
    /// Metrics that tell where a change comes from, and are no part of the verdict.
    pub(crate) details: Vec<MetricDocument<'a>>,
    /// Number of metrics and looks that the error rate is shared by.
    pub(crate) comparisons: usize,
    /// Pairs of starts that were made.
    pub(crate) pairs: usize,
    /// Pairs of starts that were planned at most.
    pub(crate) pairs_planned: usize,
    /// Why the experiment ended.
    pub(crate) ending: &'static str,
    /// Numbers of starts, of programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) starts: Option<StartsDocument>,
    /// Command before the change; null with a patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<&'a str>,
    /// Command after the change; null with a patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<&'a str>,
    /// File of the patch; null without one.
    pub(crate) patch: Option<&'a str>,
    /// The source has the patch, of kernels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reverse: Option<bool>,
    /// Seed of the order of CPUs or starts.
    pub(crate) seed: u64,
    /// Accesses after which another CPU of the guest runs; null for programs.
    #[serde(rename = "yield", skip_serializing_if = "Option::is_none")]
    pub(crate) yield_every: Option<u32>,
    /// Release of the kernel; null for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) release: Option<&'a str>,
    /// Files of both kernels; null for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kernels: Option<KernelPairDocument>,
    /// Types that the patch lays out differently.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) types: Option<Vec<ChangedTypeDocument<'a>>>,
    /// Predictions by replay; null without them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) predictions: Option<Vec<PredictionDocument<'a>>>,
    /// Sentences about the predictions; null without them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) words: Option<Vec<String>>,
    /// CPUs that both sides could use; null for kernels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cpus: Option<&'a [usize]>,
    /// True if both ran under SCHED_FIFO; null for kernels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fifo: Option<bool>,
    /// Sentences about the result, for people.
    pub(crate) notes: Vec<String>,
}

impl Document for VerifyDocument<'_> {
    const SCHEMA: &'static str = "relayout/verify/1";
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct MetricDocument<'a> {
    /// Name of the metric.
    name: &'a str,
    /// Unit of the values; null if there is none.
    unit: Option<&'a str>,
    /// `lower` or `higher`.
    better: &'static str,
    /// Values before the change.
    before: SideDocument,
    /// Values after the change.
    after: SideDocument,
    /// Origin of the values: `measured` on hardware, or `counted` in recordings of kernels.
    basis: &'static str,
    /// Change in percent; null if it cannot be told, or has no percentage.
    change_percent: Option<f64>,
    /// 95% interval of the change in percent; null if it cannot be told, or has no percentage.
    ci95_percent: Option<[f64; 2]>,
    /// How the change is computed.
    change_is: &'static str,
    /// Probability of such a change without a cause; null if it cannot be told.
    p_value: Option<f64>,
    /// Reason why a change or a margin has no percentage; null if all have one.
    change_why: Option<&'static str>,
    /// Margin of `same`, in percent; null if the median before is 0 and the change is a difference.
    margin_percent: Option<f64>,
    /// Smallest margin with which the interval would give "same".
    margin_reached_percent: Option<f64>,
    /// No value of one side lies within those of the other.
    ranges_apart: bool,
    /// `better`, `worse`, `same` or `unclear`.
    verdict: &'static str,
    /// Reason for an unclear verdict; null for others.
    why: Option<&'static str>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct SideDocument {
    /// Median, in the metric's unit.
    median: f64,
    /// Mean, in the metric's unit.
    mean: f64,
    /// Standard deviation in percent of the mean; null with one value.
    stddev_percent: Option<f64>,
    /// Least value.
    min: f64,
    /// Largest value.
    max: f64,
    /// Number of values.
    n: usize,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct StartsDocument {
    /// All starts.
    total: usize,
    /// Starts that count.
    kept: usize,
    /// Disturbed starts that count all the same.
    kept_disturbed: usize,
    /// Starts that lost CPU time to others, and were discarded.
    disturbed: usize,
    /// Starts that reported a disturbance themselves.
    said_disturbed: usize,
    /// Starts for warming up.
    warm_up: usize,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct KernelPairDocument {
    /// Kernel without the patch.
    pub(crate) before: BuiltKernelDocument,
    /// Kernel with the patch.
    pub(crate) after: BuiltKernelDocument,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct BuiltKernelDocument {
    /// File of the image.
    pub(crate) image: String,
    /// File of the vmlinux.
    pub(crate) debug: String,
    /// File of the configuration.
    pub(crate) config: String,
    /// Null for a kernel that was built before.
    pub(crate) build_seconds: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ChangedTypeDocument<'a> {
    /// Name of the type.
    pub(crate) name: &'a str,
    /// Size in bytes without the patch.
    pub(crate) old_size: u64,
    /// Size in bytes with the patch.
    pub(crate) new_size: u64,
    /// Members that moved.
    pub(crate) members: Vec<MovedMemberDocument<'a>>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct MovedMemberDocument<'a> {
    /// Path of the member.
    pub(crate) name: &'a str,
    /// Offset in bytes without the patch.
    pub(crate) old_offset: u64,
    /// Offset in bytes with the patch.
    pub(crate) new_offset: u64,
}

/// Replay of one type in one setting, or the reason why there is none.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PredictionDocument<'a> {
    /// Name of the type, without `struct`.
    #[serde(rename = "type")]
    pub(crate) type_name: &'a str,
    /// Workload and number of CPUs.
    pub(crate) setting: &'a str,
    /// Reason why nothing is predicted; null if something is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refused: Option<&'a str>,
    /// Result of the replay; null if refused.
    #[serde(flatten)]
    pub(crate) replayed: Option<ReplayedDocument>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ReplayedDocument {
    /// Today's layout.
    pub(crate) before: ReplayedSideDocument,
    /// The new layout.
    pub(crate) after: ReplayedSideDocument,
    /// Change of the transfers in percent; null without transfers.
    pub(crate) change_percent: Option<f64>,
    /// 95% interval of the change in percent; null if it cannot be told.
    pub(crate) ci95_percent: Option<[f64; 2]>,
    /// Members come together of which not all was recorded.
    pub(crate) partial: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ReplayedSideDocument {
    /// Transfers: moves of a cache line to a CPU that another CPU had it.
    pub(crate) transfers: u64,
    /// Transfers that brought nothing that was used at the access itself.
    pub(crate) false_first_touch: u64,
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
pub(crate) fn judged_document<'a>(
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
        basis: metric.judged.basis.as_str(),
        change_percent: metric.judged.change.map(percent),
        ci95_percent: metric.judged.interval.map(|ends| ends.map(percent)),
        change_is: metric.judged.scale.as_str(),
        p_value: metric.p_value,
        change_why: metric.why_no_change,
        margin_percent: metric.margin.map(percent),
        margin_reached_percent: metric.margin_reached.map(percent),
        ranges_apart: metric.before.is_apart_from(&metric.after),
        verdict: metric.judged.verdict.as_str(),
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
