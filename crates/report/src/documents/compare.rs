//! `relayout/compare/1`: a comparison of recordings for scripts.
//!
//! Rates are transfers per operation. Changes and intervals are in percent of the old rate.

mod from_comparison;

pub use from_comparison::compare_document;

use relayout_verify::judged_change::{ChangeBasis, ChangeVerdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Document;
use crate::documents::advise::simulated_curve::SimulatedCurveDocument;

/// The document of `compare --json`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CompareDocument {
    /// Name and version of this document.
    pub(crate) schema: String,
    /// The outcome in a sentence.
    pub(crate) outcome: String,
    /// A type, a variable or the whole of a workload got worse.
    pub(crate) worse: bool,
    /// Changes below this are none.
    pub(crate) margin_percent: f64,
    /// Workloads of both sides.
    pub(crate) workloads: Vec<WorkloadDocument>,
    /// Sentences about the result, for people.
    pub(crate) notes: Vec<String>,
}

impl Document for CompareDocument {
    const SCHEMA: &'static str = "relayout/compare/1";
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct WorkloadDocument {
    /// Name of the workload.
    pub(crate) workload: String,
    /// `kernel` or `program`.
    pub(crate) target: String,
    /// CPUs of the guest; null for programs.
    pub(crate) cpus: Option<u16>,
    /// Says how the counts came about.
    pub(crate) counted: String,
    /// Recordings of OLD.
    pub(crate) old: CompareSideDocument,
    /// Recordings of NEW.
    pub(crate) new: CompareSideDocument,
    /// Operations a second in simulated time; absent for recordings in the host's order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<SimulatedRateDocument>,
    /// What layouts of NEW alone bring in OLD; absent unless they were executed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) carried_layouts: Vec<CarriedLayoutsDocument>,
    /// Transfers of everything, per operation.
    pub(crate) total: RateDocument,
    /// Types and variables that got better or worse.
    pub(crate) subjects: Vec<SubjectDocument>,
    /// Sentences about the result, for people.
    pub(crate) notes: Vec<String>,
}

/// The guest of OLD, executed in simulated time with layouts of NEW: nothing else of NEW is in it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct CarriedLayoutsDocument {
    /// Types with the layout of NEW.
    pub(crate) types: Vec<String>,
    /// Members that NEW does not have, or has with fewer bytes: they lie where it has others, or behind all.
    pub(crate) left_behind: Vec<String>,
    /// What they bring. `today` is OLD as it is.
    pub(crate) predicted_curve: SimulatedCurveDocument,
}

/// Operations a second of both sides, by the expected rules of the machine. No verdict is made of them.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SimulatedRateDocument {
    /// Origin of the rates: `simulated`.
    #[schemars(with = "String")]
    pub(crate) basis: ChangeBasis,
    /// Operations a second of OLD, the median of its recordings.
    pub(crate) old: f64,
    /// Operations a second of NEW.
    pub(crate) new: f64,
    /// The second over the first; null where nothing happened.
    pub(crate) ratio: Option<f64>,
    /// Least ratio of a recording of NEW to one of OLD: how precise `ratio` is, not how sure. Null with one recording of each.
    pub(crate) low: Option<f64>,
    /// Largest of them.
    pub(crate) high: Option<f64>,
    /// Operations a second in each recording of OLD.
    pub(crate) old_recordings: Vec<f64>,
    /// Operations a second in each recording of NEW.
    pub(crate) new_recordings: Vec<f64>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct CompareSideDocument {
    /// Release of the kernel; empty for programs.
    pub(crate) release: String,
    /// Build id in hexadecimal.
    pub(crate) build_id: String,
    /// Debug file; null if none was read.
    pub(crate) debug_file: Option<String>,
    /// Operations of all recordings.
    pub(crate) operations: f64,
    /// Recordings.
    pub(crate) recordings: Vec<ComparedRecordingDocument>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ComparedRecordingDocument {
    /// Folder of the profile.
    pub(crate) profile: String,
    /// Seed of the order of CPUs or starts.
    pub(crate) seed: u64,
    /// Number of operations.
    pub(crate) operations: f64,
    /// Transfers: moves of a cache line to a CPU that another CPU had it.
    pub(crate) transfers: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RateDocument {
    /// Origin of the rates: `counted` in recordings.
    #[schemars(with = "String")]
    pub(crate) basis: ChangeBasis,
    /// `better`, `worse`, `same` or `unclear`.
    #[schemars(with = "String")]
    pub(crate) verdict: ChangeVerdict,
    /// Mean transfers per operation in OLD.
    pub(crate) old_mean: f64,
    /// Mean transfers per operation in NEW.
    pub(crate) new_mean: f64,
    /// Rate in each recording, in the order of the recordings.
    pub(crate) old: Vec<f64>,
    /// Transfers per operation in each recording of NEW.
    pub(crate) new: Vec<f64>,
    /// Change in percent; null where the old rate is 0 and the new one is not, or a side has one
    /// recording.
    pub(crate) change_percent: Option<f64>,
    /// Reason why the change has no percentage; null if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) change_why: Option<String>,
    /// 95% interval of the change in percent; null if it cannot be told.
    pub(crate) ci95_percent: Option<[f64; 2]>,
    /// Probability of such a change without a cause, from 0 to 1.
    pub(crate) p_value: f64,
    /// No rate of one side lies within those of the other.
    pub(crate) ranges_apart: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SubjectDocument {
    /// Name of the type or variable as texts show it: `runqueues (rq)`.
    #[serde(default)]
    pub(crate) name: String,
    /// Name of the type; null for a scalar variable.
    #[serde(rename = "type")]
    pub(crate) type_name: Option<String>,
    /// Name of the variable; null for a type.
    pub(crate) variable: Option<String>,
    /// Transfers per operation.
    pub(crate) rate: RateDocument,
    /// Members that changed, most first.
    pub(crate) members: Vec<MemberChangeDocument>,
    /// Null unless the verdict is better or worse.
    pub(crate) cause: Option<CauseDocument>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct MemberChangeDocument {
    /// Empty for holes.
    pub(crate) path: String,
    /// The member in OLD; null where it is not there.
    pub(crate) old: Option<MemberSideDocument>,
    /// The member in NEW; null where it is not there.
    pub(crate) new: Option<MemberSideDocument>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct MemberSideDocument {
    /// Bytes from the start of the object, of the element with most transfers.
    pub(crate) offset: u64,
    /// Size in bytes.
    pub(crate) size: u64,
    /// Transfers per operation.
    pub(crate) rate: f64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct CauseDocument {
    /// `layout`, `no-members`, `same-layout`, `no-pair` (the layout changed, and no two members of an object have these
    /// transfers by it) or `unknown`.
    pub(crate) kind: String,
    /// What changed in the layout, for people.
    pub(crate) sentences: Vec<String>,
    /// Pairs of members that came onto a line or left it, and whose transfers changed with it.
    pub(crate) pairs: Vec<CausePairDocument>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct CausePairDocument {
    /// Paths of the two members.
    pub(crate) members: [String; 2],
    /// Their offsets in bytes in OLD.
    pub(crate) old_offsets: [u64; 2],
    /// Their offsets in bytes in NEW.
    pub(crate) new_offsets: [u64; 2],
    /// They share a line in the new build, and did not before; or the other way round.
    pub(crate) together: bool,
    /// Cache line that they share, or shared, from 0.
    pub(crate) line: u64,
    /// Transfers per operation between the two.
    pub(crate) old_rate: f64,
    /// Transfers per operation between them in NEW.
    pub(crate) new_rate: f64,
}

impl WorkloadDocument {
    /// Returns the workload with its number of CPUs: `stat-one on 4 CPUs`.
    pub(crate) fn title(&self) -> String {
        match self.cpus {
            None => self.workload.clone(),
            Some(cpus) => format!("{} on {cpus} CPUs", self.workload),
        }
    }

    /// Returns the names of the types and variables with a verdict.
    pub(crate) fn names_with_verdict(&self, wanted: ChangeVerdict) -> Vec<String> {
        let subjects = self.subjects.iter();
        subjects
            .filter(|subject| subject.rate.verdict == wanted)
            .map(|subject| subject.name.clone())
            .collect()
    }
}

impl SubjectDocument {
    /// Returns the sentences about the cause of the change.
    pub(crate) fn cause_sentences(&self) -> &[String] {
        { self.cause.as_ref() }.map_or(&[], |cause| &cause.sentences)
    }
}
