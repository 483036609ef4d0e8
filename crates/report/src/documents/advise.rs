//! `relayout/advise/1` and `relayout/what-if/1`. The structs are the format: a change of a key or
//! of its meaning needs a new version.

pub(crate) mod curve;
mod from_search;

pub use from_search::{advise_document, what_if_document};

use std::collections::BTreeMap;

use relayout_search::ChangeInterval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::documents::Document;
use crate::documents::advise::curve::CurveDocument;
use crate::documents::report::finding::{AdviceDocument, DeclaringDocument};

/// The document of `advise --json`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AdviseDocument {
    /// Name and version of the document.
    pub schema: String,
    /// Recorded workload.
    pub workload: String,
    /// Bytes of a cache line.
    pub line_bytes: u32,
    /// Sentences about the whole run.
    pub notes: Vec<String>,
    /// Part of the time that was recorded, in words; null where all of it was.
    #[serde(default)]
    pub recorded_time: Option<String>,
    /// One entry for each type that was advised on.
    pub types: Vec<TypeDocument>,
    /// Contended types and variables without advice.
    pub skipped: Vec<SkippedTypeDocument>,
    /// Contended variables without members, with the advice of `report` on them.
    pub variables: Vec<AdvisedVariableDocument>,
}

impl Document for AdviseDocument {
    const SCHEMA: &'static str = "relayout/advise/1";
}

/// The document of `what-if --json`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WhatIfDocument {
    /// Name and version of the document.
    pub schema: String,
    /// Recorded workload.
    pub workload: String,
    /// Bytes of a cache line.
    pub line_bytes: u32,
    /// Name of the struct.
    pub name: String,
    /// Number of objects, and of what was recorded of them.
    #[serde(flatten)]
    pub subject: AdvisedSubjectDocument,
    /// Sentences about the whole run.
    pub notes: Vec<String>,
    /// Part of the time that was recorded, in words; null where all of it was.
    #[serde(default)]
    pub recorded_time: Option<String>,
    /// Scores, or the reason why there are none.
    #[serde(flatten)]
    pub outcome: WhatIfOutcomeDocument,
}

impl Document for WhatIfDocument {
    const SCHEMA: &'static str = "relayout/what-if/1";
}

/// Scores of the given layouts, or the reason why there are none.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum WhatIfOutcomeDocument {
    /// The layouts were replayed.
    Scored(Box<WhatIfScoresDocument>),
    /// The layouts were not replayed.
    Refused {
        /// Reason.
        refused: String,
    },
}

/// Scores of today's layout and of the given ones.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WhatIfScoresDocument {
    /// Today's layout.
    pub current: LayoutDocument,
    /// Transfers of today's layout by the offset in a line at which all objects begin.
    pub by_phase: Vec<PhaseDocument>,
    /// Sentences about the bytes of an object with each layout.
    #[serde(default)]
    pub memory: String,
    /// First of the given layouts.
    pub given: Option<CandidateDocument>,
    /// All given layouts, in the order of the command line.
    pub all_given: Vec<CandidateDocument>,
}

/// One type: what was found, or the reason why nothing was searched.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum TypeDocument {
    /// Layouts were searched.
    Advised(Box<AdvisedTypeDocument>),
    /// No layout can be advised.
    Refused(RefusedTypeDocument),
}

/// The objects of a type, and what was recorded of them.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AdvisedSubjectDocument {
    /// Objects of the type in the profile.
    #[serde(default)]
    pub objects: u64,
    /// Keyword and name of the type, or the array: `struct worker`.
    #[serde(default)]
    pub title: String,
    /// Objects whose accesses were recorded in order.
    #[serde(default)]
    pub recorded_objects: usize,
    /// Their accesses.
    #[serde(default)]
    pub recorded_accesses: usize,
}

/// A type for which no layout can be advised.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RefusedTypeDocument {
    /// Name of the struct.
    pub name: String,
    /// Number of objects, and of what was recorded of them.
    #[serde(flatten)]
    pub subject: AdvisedSubjectDocument,
    /// Reason.
    pub refused: String,
    /// Always empty.
    pub candidates: [(); 0],
}

/// A type with the layouts that were scored for it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AdvisedTypeDocument {
    /// Name of the struct.
    pub name: String,
    /// Number of objects, and of what was recorded of them.
    #[serde(flatten)]
    pub subject: AdvisedSubjectDocument,
    /// Member that stays first: code relies on it, or none was searched.
    pub kept: Option<String>,
    /// Types that hold the struct by value, with the number of such objects.
    pub inside: BTreeMap<String, u64>,
    /// Objects of which each CPU has one.
    pub per_cpu_objects: u64,
    /// Members with the functions that access them, most accesses first.
    pub evidence: Vec<MemberAccessesDocument>,
    /// Conclusion about the best candidate.
    pub verdict: String,
    /// Measure by which candidates are compared when one is recommended: `transfers`, or `predicted-time`.
    pub compared_by: String,
    /// CPUs for which times are predicted; null where candidates are compared by transfers.
    pub compared_cpus: Option<u32>,
    /// Today's layout.
    pub current: LayoutDocument,
    /// Candidates worth showing, best first.
    pub candidates: Vec<CandidateDocument>,
    /// Index into `candidates` of the recommended one; null where none is worth its edits.
    pub recommended: Option<usize>,
    /// Reason for the recommendation, or against any.
    pub recommended_why: String,
    /// Sentences about the best layout found.
    #[serde(default)]
    pub conclusion: PoolConclusionDocument,
    /// The layout that would be recommended without the limits of the source, as a sentence; null where the limits cost
    /// nothing.
    #[serde(default)]
    pub without_limits: Option<String>,
    /// What a reviewer asks about the recommended layout, or about the one that became the patch; null
    /// where nothing is recommended.
    pub review: Option<ReviewDocument>,
    /// Layouts together with guarded stores.
    pub check: Option<GuardDocument>,
    /// Layouts given by the user.
    pub given: Vec<CandidateDocument>,
    /// Reason why the best candidate has no patch.
    pub patch_refused: Option<String>,
    /// Results of compiling the patch, by configuration.
    pub compiled: Option<Vec<CompileDocument>>,
    /// Number of layouts that were replayed.
    pub tried: usize,
    /// Other configurations in which layouts were scored to rank them.
    #[serde(default)]
    pub ranking_configurations: usize,
    /// Numbers of candidates that were not replayed.
    pub left_out: LeftOutDocument,
    /// Fewest transfers that any layout can have.
    pub bound: Option<BoundDocument>,
    /// Change of the transfers on the half of the recording that did not choose the best candidate.
    pub held_out: Option<IntervalDocument>,
    /// Changes of the transfers by the recommended layout, else by the first candidate, on parts of the
    /// recording that did not choose it.
    pub parts: Vec<f64>,
    /// Worst of them: the gain to promise.
    pub worst_change: Option<f64>,
    /// Reasons for which the gain may not hold; with one, no patch is written without `--force`.
    pub doubts: Vec<DoubtDocument>,
    /// Code that relies on the order of the members.
    pub order: Vec<OrderFactDocument>,
    /// Sentences about members that stay where they are for it.
    #[serde(default)]
    pub order_notes: Vec<String>,
    /// Sentences about the bytes of an object with each layout.
    #[serde(default)]
    pub memory: String,
    /// Members without a recorded access.
    pub unrecorded_members: Vec<String>,
    /// Transfers of today's layout by the offset in a line at which all objects begin.
    pub by_phase: Vec<PhaseDocument>,
}

impl AdvisedTypeDocument {
    /// Returns the recommended layout, with guards or without.
    pub(crate) fn recommended_layout(&self) -> Option<&CandidateDocument> {
        match self.check.as_ref().filter(|guards| guards.is_recommended) {
            Some(guards) => guards.candidates.get(guards.recommended?),
            None => self.candidates.get(self.recommended?),
        }
    }
}

/// Sentences about the best of the layouts with the same guarded stores, and the scores of today's layout elsewhere.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct PoolConclusionDocument {
    /// True if the first candidate has fewer transfers than today's layout.
    pub has_fewer: bool,
    /// Conclusion about the best layout.
    pub sentences: Vec<String>,
    /// Members that moved as a whole or could not move, and have an order of their own to look for.
    pub inner_types: Option<String>,
    /// Other workloads and configurations.
    pub scenarios: Vec<ScenarioTodayDocument>,
}

/// Another workload or configuration, with the layout that is used there today.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ScenarioTodayDocument {
    /// Profile, or name of the configuration.
    pub name: String,
    /// `workload` or `configuration`.
    pub kind: String,
    /// Read and write transfers; null where nothing was scored.
    pub transfers: Option<u64>,
    /// Pair transfers; null where they cost nothing.
    pub pair_transfers: Option<u64>,
    /// Reason why there are no scores.
    pub not_judged: Option<String>,
    /// Stores of the guarded statements there, as clauses.
    pub seen_stores: String,
}

/// Answers to the questions of a reviewer.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReviewDocument {
    /// The layout in words.
    pub title: String,
    /// Number of the candidate; null for a given layout and for one that is not shown.
    #[serde(default)]
    pub number: Option<usize>,
    /// True if the candidate is one of those with guarded stores (`check`).
    #[serde(default)]
    pub guarded: bool,
    /// Answers, in the order of a review.
    pub answers: Vec<ReviewAnswerDocument>,
}

/// Answer to a question of a reviewer.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReviewAnswerDocument {
    /// `Saves`, `Memory`, `Other workloads`, `Configurations`, `Why this edit`, `Comment`, `Order`
    /// or `What to write`.
    pub question: String,
    /// Sentences.
    pub answer: String,
}

/// Reason for which a gain may not hold.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DoubtDocument {
    /// `few-transfers`, `busy-host` and others: docs/search.md lists them.
    pub kind: String,
    /// The reason as a sentence.
    pub sentence: String,
}

/// Code that relies on the order of members.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OrderFactDocument {
    /// `range`, `assertion`, `offset-limit`, `first-member`, `initializer`, `undecided` and others.
    pub kind: String,
    /// Source file, below the top of the tree.
    pub file: String,
    /// Source line.
    pub line: u32,
    /// Reliance in words.
    pub sentence: String,
    /// The source line.
    pub text: String,
}

impl OrderFactDocument {
    /// Kind of a use of which the file does not show whether the struct is this one.
    pub(crate) const UNDECIDED: &str = "undecided";
}

/// A contended type or variable without advice.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SkippedTypeDocument {
    /// Name of the type or variable.
    pub name: String,
    /// Read and write transfers on all its objects.
    pub transfers: u64,
    /// Reason.
    pub why: Option<String>,
}

/// A contended variable without members, whose findings have advice.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AdvisedVariableDocument {
    /// Name of the variable.
    pub name: String,
    /// Type of the number.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Function that declares it; null for one that is not local.
    pub(crate) declared_in: Option<DeclaringDocument>,
    /// Read and write transfers on it.
    pub transfers: u64,
    /// Findings of `report` on its cache lines, which other variables may share.
    pub findings: Vec<VariableFindingDocument>,
}

/// A finding with advice on a variable.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct VariableFindingDocument {
    /// Rank in `report`, from 1.
    pub rank: u32,
    /// Kind of contention: `false-sharing`, `true-sharing`, and the like; see docs/glossary.md.
    pub kind: String,
    /// Advice of `report` on the finding.
    pub(crate) advice: Vec<AdviceDocument>,
}

/// Accesses of one kind to one member.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MemberAccessesDocument {
    /// Member.
    pub member: String,
    /// `read` or `write`.
    pub access: String,
    /// Number of accesses.
    pub count: u64,
    /// Number of CPUs or threads.
    pub contexts: usize,
    /// Functions with the most accesses.
    pub functions: Vec<FunctionDocument>,
}

/// A function and the number of its accesses.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FunctionDocument {
    /// Function.
    pub function: String,
    /// Number of accesses.
    pub count: u64,
}

/// Numbers of candidates that were not replayed, by reason.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LeftOutDocument {
    /// They bring members together whose accesses were not all recorded.
    pub unrecorded: usize,
    /// They move a pinned member.
    pub kept: usize,
    /// They move a member into a cache line group or out of one.
    pub grouped: usize,
    /// Names of the cache line groups.
    #[serde(default)]
    pub groups: Vec<String>,
    /// They break a rule about the order that other code makes, as a border of a range of members.
    pub order: usize,
    /// The budget of replayed accesses was used up.
    pub budget: usize,
    /// Pairs of moves beyond the limit.
    pub two_moves: usize,
    /// Scored in the recorded build only.
    pub builds: usize,
}

/// Lower bound of the transfers.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct BoundDocument {
    /// Fewest transfers that any layout can have.
    pub transfers: u64,
    /// Distance of the best candidate from the bound, as a fraction.
    pub gap: f64,
    /// Fewest transfers of a candidate.
    #[serde(default)]
    pub fewest: u64,
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

/// Transfers with all objects at one offset in a line.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PhaseDocument {
    /// Offset of the objects in a line, in bytes.
    pub offset: u32,
    /// Transfers.
    pub transfers: u64,
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
    /// Predicted throughput over today's by the number of CPUs of a larger machine, by the timed model; null where
    /// no machine was named, or the model does not cover the case (`notes` says why).
    pub predicted_curve: Option<CurveDocument>,
    /// Change of the transfers from today's layout.
    pub transfers_change: Option<IntervalDocument>,
    /// Change at the places of a line where the allocator can put an object; null where it has no
    /// choice.
    pub places: Option<PlaceChangesDocument>,
    /// Worst change on parts of the recording that did not choose the layout: the gain to promise.
    pub worst_change: Option<f64>,
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

/// Layouts together with guarded stores. The keys of the first statement stand here once more.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GuardDocument {
    /// First of the guarded statements.
    #[serde(flatten)]
    pub first: StatementDocument,
    /// All guarded statements.
    pub statements: Vec<StatementDocument>,
    /// Silent stores of the statements, and transfers with the layout alone, the guards alone and both, as sentences.
    #[serde(default)]
    pub summary: String,
    /// Sentences about the best layout with the guards.
    #[serde(default)]
    pub conclusion: PoolConclusionDocument,
    /// Today's layout with the guards.
    pub alone: Option<CandidateDocument>,
    /// Candidates with the guards, best first.
    pub candidates: Vec<CandidateDocument>,
    /// True if the guards are clearly better than layouts without them.
    pub better: bool,
    /// True if a layout with the guards is recommended, and not one without.
    #[serde(default)]
    pub is_recommended: bool,
    /// Index into these candidates of the recommended one; null where it is not shown.
    #[serde(default)]
    pub recommended: Option<usize>,
    /// Change of the transfers from the best layout with fewer guards.
    pub beside_layouts_without: Option<IntervalDocument>,
    /// Number of guards of that layout.
    pub beside_checks: usize,
    /// Change of the transfers on the half of the recording that did not choose the best candidate.
    pub held_out: Option<IntervalDocument>,
}

/// A statement that stores, and its recorded stores.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StatementDocument {
    /// Member that it stores to.
    pub member: String,
    /// Function.
    pub function: Option<String>,
    /// Source file.
    pub file: String,
    /// Source line.
    pub line: u32,
    /// Recorded stores.
    pub stores: u64,
    /// Recorded stores that changed nothing.
    pub silent: u64,
}

/// Stores of a statement in another recording.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StoreCountsDocument {
    /// Recorded stores.
    pub stores: u64,
    /// Recorded stores that changed nothing.
    pub silent: u64,
}

/// Score of a layout in another workload or configuration.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ScenarioDocument {
    /// Profile, or name of the configuration.
    pub name: String,
    /// `workload` or `configuration`.
    pub kind: String,
    /// Scores of the layout there.
    #[serde(flatten)]
    pub score: Option<ScenarioScoreDocument>,
    /// Reason why there are no scores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_judged: Option<String>,
    /// Stores of the guarded statements there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statements: Vec<StoreCountsDocument>,
}

/// Cost of a layout in another workload or configuration.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ScenarioScoreDocument {
    /// Transfers of the layout that is used there today.
    pub current_transfers: u64,
    /// Transfers of this layout.
    pub transfers: u64,
    /// Pair transfers of the layout that is used there today.
    pub current_pair_transfers: Option<u64>,
    /// Pair transfers of this layout.
    pub pair_transfers: Option<u64>,
    /// Size of the struct there, in bytes.
    pub size: u64,
    /// Change of the transfers.
    pub transfers_change: Option<IntervalDocument>,
    /// True if the layout clearly costs more there.
    pub hurts: bool,
}

/// Result of compiling the patch in one configuration.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CompileDocument {
    /// Architecture and configuration.
    pub configuration: String,
    /// `as-scored`, `good`, `not-judged` or `bad`.
    pub verdict: String,
    /// Source files that were compiled.
    pub units: Vec<String>,
    /// Reason.
    pub why: Option<String>,
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
