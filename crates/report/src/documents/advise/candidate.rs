//! A layout with its cost, and the edit that leads to it.

use relayout_search::ChangeInterval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::documents::advise::evidence::DoubtDocument;
use crate::documents::advise::pool::ScenarioDocument;
use crate::documents::advise::simulated_curve::{SimulatedCurveDocument, SimulatedRatioDocument};

/// A candidate or given layout.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CandidateDocument {
    /// Layout and its cost.
    #[serde(flatten)]
    pub layout: LayoutDocument,
    /// Name of a given layout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Number of the candidate, from 1, which `--pick` takes; null for other layouts.
    #[serde(default)]
    pub number: Option<usize>,
    /// Edits that lead to the layout.
    pub changes: Vec<String>,
    /// Guards, edits and alignments of memory in one phrase.
    #[serde(default)]
    pub edit: String,
    /// Members that leave each other's cache lines, as sentences.
    #[serde(default)]
    pub line_changes: Vec<String>,
    /// Number of members that move.
    pub moved: usize,
    /// Allocation calls that have to give the layout's alignment, which they do not give today.
    pub needs_allocation: Vec<String>,
    /// Size of the edit.
    pub edits: EditsDocument,
    /// Change of the transfers from today's layout, in percent.
    pub change_percent: ChangePercentDocument,
    /// True if no layout beats this one in transfers, bytes and members moved.
    pub pareto: bool,
    /// True if the layout brings members together that were not recorded together.
    pub unjudged: bool,
    /// Predicted throughput over today's; null where it cannot be predicted.
    pub predicted_gain: Option<GainDocument>,
    /// Operations over today's by the number of CPUs, in simulated time; null where the layout was not executed.
    pub predicted_curve: Option<SimulatedCurveDocument>,
    /// Ratio of its point with the most CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<SimulatedRatioDocument>,
    /// Reason for which the layout could not be executed in simulated time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_simulated: Option<String>,
    /// Change of the transfers from today's layout.
    pub transfers_change: Option<IntervalDocument>,
    /// Change at the places of a line where the allocator can put an object; null where it has no
    /// choice.
    pub places: Option<PlaceChangesDocument>,
    /// Worst change on parts of the recording that did not choose the layout: the gain to promise.
    pub worst_change: Option<f64>,
    /// The alignment that the program's own allocator has to give, as a sentence.
    #[serde(default)]
    pub own_allocation: Option<String>,
    /// The changes on these parts as a sentence; null where they were not judged.
    #[serde(default)]
    pub parts_sentence: Option<String>,
    /// Reasons for which the gain of a candidate may not hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<DoubtDocument>,
    /// Members that enter or leave a cache line group, in a given layout.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub group_crossings: Vec<GroupCrossingDocument>,
    /// Scores in other workloads and configurations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<Vec<ScenarioDocument>>,
    /// Elements by which arrays grow at most where runs of elements are rounded to lines and each
    /// context keeps its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_growth_elements: Option<u64>,
    /// Unified diff that makes this layout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
}

impl CandidateDocument {
    /// Returns the name of a given layout; empty for others.
    pub(crate) fn given_name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }
}

/// A layout and its cost.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LayoutDocument {
    /// Size of the struct in bytes.
    pub size: u64,
    /// Alignment of the struct in bytes.
    pub align: u64,
    /// Read and write transfers. Where the allocator can put an object at several places of a line,
    /// this and the other counts are means over these places.
    pub transfers: u64,
    /// Read and write transfers where the objects lay when they were recorded.
    pub transfers_as_recorded: u64,
    /// Read and write transfers at each place of a line where the allocator can put an object; empty
    /// where it has no choice.
    pub transfers_by_place: Vec<u64>,
    /// True if objects were recorded at each of these places.
    #[serde(default)]
    pub places_are_recorded: bool,
    /// Read transfers.
    pub read_transfers: u64,
    /// Write transfers.
    pub write_transfers: u64,
    /// Upgrades.
    pub upgrades: u64,
    /// Transfers that are false by first touch.
    pub false_first_touch: u64,
    /// Transfers that are false by lifetime.
    pub false_lifetime: u64,
    /// Pair transfers; null where they cost nothing.
    pub pair_transfers: Option<u64>,
    /// Events per operation of the workload.
    pub per_operation: Option<PerOperationDocument>,
    /// Bytes that an object takes.
    pub bytes_per_object: u64,
    /// Slab cache that gives the objects.
    pub slab_class: Option<String>,
    /// Members in order.
    pub layout: Vec<PlacedMemberDocument>,
}

impl LayoutDocument {
    /// Returns the transfers and upgrades together.
    pub(crate) fn transfers_and_upgrades(&self) -> u64 {
        self.transfers + self.upgrades
    }
}

/// Events per operation of the workload.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PerOperationDocument {
    /// Read and write transfers.
    pub transfers: f64,
    /// Read transfers.
    pub read_transfers: f64,
    /// Write transfers.
    pub write_transfers: f64,
    /// Upgrades.
    pub upgrades: f64,
    /// Transfers that are false by first touch.
    pub false_first_touch: f64,
    /// Transfers that are false by lifetime.
    pub false_lifetime: f64,
}

/// A member at an offset.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PlacedMemberDocument {
    /// Member.
    pub name: String,
    /// Byte offset within the struct.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
}

/// Member that a layout moves over the mark of a cache line group.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GroupCrossingDocument {
    /// Name of the member.
    pub member: String,
    /// Name of the group.
    pub group: String,
    /// True if the member leaves the group, false if it enters.
    pub leaves: bool,
}

/// Size of an edit.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EditsDocument {
    /// Members that move.
    pub members: usize,
    /// Alignments and paddings that are added.
    pub attributes: usize,
    /// Lines that the patch removes and adds; null without a patch.
    pub lines: Option<usize>,
    /// Bytes by which an object grows.
    pub grown_bytes: u64,
}

/// A change in percent, with its 95% interval.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ChangePercentDocument {
    /// Change.
    pub value: f64,
    /// Lower end; null where the interval is not known.
    pub low: Option<f64>,
    /// Upper end; null where the interval is not known.
    pub high: Option<f64>,
}

/// Change of the transfers at the places of a line where the allocator can put an object, as
/// fractions: -0.2 is a fifth less.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PlaceChangesDocument {
    /// Number of places.
    pub count: usize,
    /// Change of the mean transfers.
    pub mean_change: f64,
    /// Change at the place where the layout does worst.
    pub worst_change: f64,
    /// Number of places at which the layout saves nothing, although today's has transfers there.
    pub without_gain: usize,
    /// True if objects were recorded at each place, so that the recording shows how they lie. The
    /// counts are then those of the recording.
    pub are_recorded: bool,
    /// The changes as a sentence.
    #[serde(default)]
    pub sentence: String,
}

/// A change with its 95% interval, as a fraction.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct IntervalDocument {
    /// Change.
    pub ratio: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl IntervalDocument {
    /// Returns the change as the search has it.
    pub(crate) fn change(&self) -> ChangeInterval {
        ChangeInterval {
            change: self.ratio,
            low: self.low,
            high: self.high,
        }
    }
}

/// Predicted throughput over today's.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GainDocument {
    /// Ratio and its interval.
    #[serde(flatten)]
    pub ratio: IntervalDocument,
    /// Number of CPUs that the prediction is for.
    pub cpus: u32,
    /// Ratio of each context.
    pub contexts: Vec<ContextGainDocument>,
    /// Ratio of each recording.
    pub runs: Vec<RunGainDocument>,
    /// True if recordings disagree about the direction.
    pub unstable: bool,
}

/// Predicted throughput of one context.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ContextGainDocument {
    /// Ratio and its interval.
    #[serde(flatten)]
    pub ratio: IntervalDocument,
    /// CPU or thread.
    pub context: u16,
}

/// Predicted throughput of one recording.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RunGainDocument {
    /// Recording.
    pub run: u16,
    /// Ratio.
    pub ratio: f64,
}
