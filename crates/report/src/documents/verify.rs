//! `relayout/verify/1`: an experiment for scripts.

pub mod contents;
mod from_experiment;

pub(crate) use from_experiment::judged_document;
pub use from_experiment::verify_document;

use relayout_verify::judged_change::{ChangeBasis, ChangeScale, ChangeVerdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Document;

/// The document of `verify --json`, of programs and of kernels.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct VerifyDocument {
    /// Name and version of this document.
    pub(crate) schema: String,
    /// Verdict over all metrics.
    #[schemars(with = "String")]
    pub(crate) verdict: ChangeVerdict,
    /// Metrics.
    pub(crate) metrics: Vec<MetricDocument>,
    /// Metrics that tell where a change comes from, and are no part of the verdict.
    pub(crate) details: Vec<MetricDocument>,
    /// Number of metrics and looks that the error rate is shared by.
    pub(crate) comparisons: usize,
    /// Pairs of starts that were made.
    pub(crate) pairs: usize,
    /// Pairs of starts that were planned at most.
    pub(crate) pairs_planned: usize,
    /// Why the experiment ended.
    pub(crate) ending: String,
    /// Numbers of starts, of programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) starts: Option<StartsDocument>,
    /// Command before the change; null with a patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<String>,
    /// Command after the change; null with a patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<String>,
    /// File of the patch; null without one.
    pub(crate) patch: Option<String>,
    /// The source has the patch, of kernels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reverse: Option<bool>,
    /// Seed of the order of CPUs or starts.
    pub(crate) seed: u64,
    /// Accesses after which another CPU of the guest runs; null for programs, and in simulated
    /// time.
    #[serde(rename = "yield", skip_serializing_if = "Option::is_none")]
    pub(crate) yield_every: Option<u32>,
    /// Release of the kernel; null for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) release: Option<String>,
    /// Machine in whose simulated time both kernels executed, in words; absent in the order of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) machine_words: Option<String>,
    /// Files of both kernels; null for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kernels: Option<KernelPairDocument>,
    /// Types that the patch lays out differently.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) types: Option<Vec<ChangedTypeDocument>>,
    /// Predictions by replay; null without them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) predictions: Option<Vec<PredictionDocument>>,
    /// Sentences about the predictions; null without them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) words: Option<Vec<String>>,
    /// CPUs that both sides could use; null for kernels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cpus: Option<Vec<usize>>,
    /// True if both ran under SCHED_FIFO; null for kernels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fifo: Option<bool>,
    /// Sentences about the result, for people.
    pub(crate) notes: Vec<String>,
}

impl Document for VerifyDocument {
    const SCHEMA: &'static str = "relayout/verify/1";
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct MetricDocument {
    /// Name of the metric.
    pub(crate) name: String,
    /// Unit of the values; null if there is none.
    pub(crate) unit: Option<String>,
    /// `lower` or `higher`.
    pub(crate) better: String,
    /// Values before the change.
    pub(crate) before: SideDocument,
    /// Values after the change.
    pub(crate) after: SideDocument,
    /// Origin of the values: `measured` on hardware, `counted` in recordings of kernels, or `simulated`: rates on a machine in
    /// simulated time, whose rules each pair draws anew.
    #[schemars(with = "String")]
    pub(crate) basis: ChangeBasis,
    /// Change in percent; null if it cannot be told, or has no percentage.
    pub(crate) change_percent: Option<f64>,
    /// 95% interval of the change in percent; of simulated rates, the bounds that leave out at most a tenth of the draws; null if it cannot be told, or has no percentage.
    pub(crate) ci95_percent: Option<[f64; 2]>,
    /// How the change is computed.
    #[schemars(with = "String")]
    pub(crate) change_is: ChangeScale,
    /// Probability of such a change without a cause; null if it cannot be told.
    pub(crate) p_value: Option<f64>,
    /// Reason why a change or a margin has no percentage; null if all have one.
    pub(crate) change_why: Option<String>,
    /// Margin of `same`, in percent; null if the median before is 0 and the change is a difference.
    pub(crate) margin_percent: Option<f64>,
    /// Smallest margin with which the interval would give "same".
    pub(crate) margin_reached_percent: Option<f64>,
    /// No value of one side lies within those of the other.
    pub(crate) ranges_apart: bool,
    /// `better`, `worse`, `same` or `unclear`.
    #[schemars(with = "String")]
    pub(crate) verdict: ChangeVerdict,
    /// Reason for an unclear verdict; null for others.
    pub(crate) why: Option<String>,
}

impl MetricDocument {
    /// Returns the change with its sign and unit: `-12.3%`; `None` where it cannot be told.
    pub(crate) fn change_text(&self) -> Option<String> {
        { self.change_percent }.map(|percent| self.change_is.percent_text(percent))
    }

    /// Returns the ends of the interval with their signs and units.
    pub(crate) fn interval_text(&self) -> Option<[String; 2]> {
        { self.ci95_percent }.map(|ends| ends.map(|end| self.change_is.percent_text(end)))
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SideDocument {
    /// Median, in the metric's unit.
    pub(crate) median: f64,
    /// Mean, in the metric's unit.
    pub(crate) mean: f64,
    /// Standard deviation in percent of the mean; null with one value.
    pub(crate) stddev_percent: Option<f64>,
    /// Least value.
    pub(crate) min: f64,
    /// Largest value.
    pub(crate) max: f64,
    /// Number of values.
    pub(crate) n: usize,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct StartsDocument {
    /// All starts.
    pub(crate) total: usize,
    /// Starts that count.
    pub(crate) kept: usize,
    /// Disturbed starts that count all the same.
    pub(crate) kept_disturbed: usize,
    /// Starts that lost CPU time to others, and were discarded.
    pub(crate) disturbed: usize,
    /// Starts that reported a disturbance themselves.
    pub(crate) said_disturbed: usize,
    /// Starts for warming up.
    pub(crate) warm_up: usize,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct KernelPairDocument {
    /// Kernel without the patch.
    pub(crate) before: BuiltKernelDocument,
    /// Kernel with the patch.
    pub(crate) after: BuiltKernelDocument,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
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

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ChangedTypeDocument {
    /// Name of the type.
    pub(crate) name: String,
    /// Size in bytes without the patch.
    pub(crate) old_size: u64,
    /// Size in bytes with the patch.
    pub(crate) new_size: u64,
    /// Members that moved.
    pub(crate) members: Vec<MovedMemberDocument>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct MovedMemberDocument {
    /// Path of the member.
    pub(crate) name: String,
    /// Offset in bytes without the patch.
    pub(crate) old_offset: u64,
    /// Offset in bytes with the patch.
    pub(crate) new_offset: u64,
}

/// Replay of one type in one setting, or the reason why there is none.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct PredictionDocument {
    /// Name of the type, without `struct`.
    #[serde(rename = "type")]
    pub(crate) type_name: String,
    /// Workload and number of CPUs.
    pub(crate) setting: String,
    /// Reason why nothing is predicted; null if something is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refused: Option<String>,
    /// Result of the replay; null if refused.
    #[serde(flatten)]
    pub(crate) replayed: Option<ReplayedDocument>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
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

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ReplayedSideDocument {
    /// Transfers: moves of a cache line to a CPU that another CPU had it.
    pub(crate) transfers: u64,
    /// Transfers that brought nothing that was used at the access itself.
    pub(crate) false_first_touch: u64,
}
