//! `relayout/advise/1` and `relayout/what-if/1`. The structs are the format: a change of a key or
//! of its meaning needs a new version.

pub(crate) mod candidate;
pub(crate) mod evidence;
mod from_search;
pub(crate) mod patch;
pub(crate) mod pool;
pub(crate) mod simulated_curve;

pub(crate) use from_search::type_document;
pub use from_search::{advise_document, what_if_document};

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::documents::Document;
use crate::documents::advise::candidate::{CandidateDocument, IntervalDocument, LayoutDocument};
use crate::documents::advise::evidence::{
    BoundDocument, CompileDocument, DoubtDocument, LeftOutDocument, MemberAccessesDocument,
    OrderFactDocument, PhaseDocument,
};
use crate::documents::advise::patch::WrittenPatchDocument;
use crate::documents::advise::pool::{GuardDocument, PoolConclusionDocument, ReviewDocument};
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
    /// Measure by which candidates are compared when one is recommended: `transfers` or `simulated-time`.
    pub compared_by: String,
    /// CPUs of the simulated time; null where candidates are compared by transfers.
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
    /// The patch; null where none was written.
    #[serde(default)]
    pub written_patch: Option<WrittenPatchDocument>,
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
    /// Returns the layout that the patch makes.
    pub(crate) fn patched_layout(&self) -> Option<&CandidateDocument> {
        let guarded = self.check.iter().flat_map(|guards| &guards.candidates);
        let mut layouts = self.given.iter().chain(&self.candidates).chain(guarded);
        layouts.find(|layout| layout.patch.is_some())
    }

    /// Returns the recommended layout, with guards or without.
    pub(crate) fn recommended_layout(&self) -> Option<&CandidateDocument> {
        match self.check.as_ref().filter(|guards| guards.is_recommended) {
            Some(guards) => guards.candidates.get(guards.recommended?),
            None => self.candidates.get(self.recommended?),
        }
    }
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
