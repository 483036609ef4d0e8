//! Layouts that were scored together: conclusions, a review, guarded stores, and scores elsewhere.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::documents::advise::candidate::{CandidateDocument, IntervalDocument};

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
    /// Workload of the profile; null for a configuration.
    pub workload: Option<String>,
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
    /// `Brings`, `Saves`, `Memory`, `Other workloads`, `Configurations`, `Why this edit`, `Comment`, `Order`
    /// or `What to write`.
    pub question: String,
    /// Sentences.
    pub answer: String,
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
