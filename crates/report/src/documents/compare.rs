//! `relayout/compare/1`: a comparison of recordings for scripts.
//!
//! Rates are transfers per operation. Changes and intervals are in percent of the old rate.

use relayout_workflows::compare::{
    ChangeCause, ComparedWorkload, MemberChange, MemberSide, RateChange, RecordingComparison,
    SideWorkload, SubjectChange, WorkloadComparison,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Document;
use crate::words::recording_changes::{cause_sentences, collector_words, outcome_words};

/// The document of `compare --json`.
#[derive(Serialize, JsonSchema)]
pub struct CompareDocument<'a> {
    /// Name and version of this document.
    schema: &'static str,
    /// The outcome in a sentence.
    outcome: String,
    /// A type, a variable or the whole of a workload got worse.
    worse: bool,
    /// Changes below this are none.
    margin_percent: f64,
    /// Workloads of both sides.
    workloads: Vec<WorkloadDocument<'a>>,
    /// Sentences about the result, for people.
    notes: &'a [String],
}

impl Document for CompareDocument<'_> {
    const SCHEMA: &'static str = "relayout/compare/1";
}

#[derive(Serialize, JsonSchema)]
struct WorkloadDocument<'a> {
    /// Name of the workload.
    workload: &'a str,
    /// `kernel` or `program`.
    target: &'a str,
    /// CPUs of the guest; null for programs.
    cpus: Option<u16>,
    /// Says how the counts came about.
    counted: String,
    /// Recordings of OLD.
    old: CompareSideDocument<'a>,
    /// Recordings of NEW.
    new: CompareSideDocument<'a>,
    /// Transfers of everything, per operation.
    total: RateDocument<'a>,
    /// Types and variables that got better or worse.
    subjects: Vec<SubjectDocument<'a>>,
    /// Sentences about the result, for people.
    notes: &'a [String],
}

#[derive(Serialize, JsonSchema)]
struct CompareSideDocument<'a> {
    /// Release of the kernel; empty for programs.
    release: &'a str,
    /// Build id in hexadecimal.
    build_id: &'a str,
    /// Debug file; null if none was read.
    debug_file: Option<String>,
    /// Operations of all recordings.
    operations: f64,
    /// Recordings.
    recordings: Vec<ComparedRecordingDocument>,
}

#[derive(Serialize, JsonSchema)]
struct ComparedRecordingDocument {
    /// Folder of the profile.
    profile: String,
    /// Seed of the order of CPUs or starts.
    seed: u64,
    /// Number of operations.
    operations: f64,
    /// Transfers: moves of a cache line to a CPU that another CPU had it.
    transfers: u64,
}

#[derive(Serialize, JsonSchema)]
struct RateDocument<'a> {
    /// Origin of the rates: `counted` in recordings.
    basis: &'static str,
    /// `better`, `worse`, `same` or `unclear`.
    verdict: &'static str,
    /// Mean transfers per operation in OLD.
    old_mean: f64,
    /// Mean transfers per operation in NEW.
    new_mean: f64,
    /// Rate in each recording, in the order of the recordings.
    old: &'a [f64],
    /// Transfers per operation in each recording of NEW.
    new: &'a [f64],
    /// Change in percent; null where the old rate is 0 and the new one is not, or a side has one
    /// recording.
    change_percent: Option<f64>,
    /// 95% interval of the change in percent; null if it cannot be told.
    ci95_percent: Option<[f64; 2]>,
    /// Probability of such a change without a cause, from 0 to 1.
    p_value: f64,
    /// No rate of one side lies within those of the other.
    ranges_apart: bool,
}

#[derive(Serialize, JsonSchema)]
struct SubjectDocument<'a> {
    /// Name of the type; null for a scalar variable.
    #[serde(rename = "type")]
    type_name: Option<&'a str>,
    /// Name of the variable; null for a type.
    variable: Option<&'a str>,
    /// Transfers per operation.
    rate: RateDocument<'a>,
    /// Members that changed, most first.
    members: Vec<MemberChangeDocument<'a>>,
    /// Null unless the verdict is better or worse.
    cause: Option<CauseDocument<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct MemberChangeDocument<'a> {
    /// Empty for holes.
    path: &'a str,
    /// The member in OLD; null where it is not there.
    old: Option<MemberSideDocument>,
    /// The member in NEW; null where it is not there.
    new: Option<MemberSideDocument>,
}

#[derive(Serialize, JsonSchema)]
struct MemberSideDocument {
    /// Bytes from the start of the object, of the element with most transfers.
    offset: u64,
    /// Size in bytes.
    size: u64,
    /// Transfers per operation.
    rate: f64,
}

#[derive(Serialize, JsonSchema)]
struct CauseDocument<'a> {
    /// `layout`, `no-members`, `same-layout`, `other-than-layout` or `unknown`.
    kind: &'static str,
    /// What changed in the layout, for people.
    sentences: Vec<String>,
    /// Pairs of members that came onto a line or left it, and whose transfers changed with it.
    pairs: Vec<CausePairDocument<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct CausePairDocument<'a> {
    /// Paths of the two members.
    members: [&'a str; 2],
    /// Their offsets in bytes in OLD.
    old_offsets: [u64; 2],
    /// Their offsets in bytes in NEW.
    new_offsets: [u64; 2],
    /// They share a line in the new build, and did not before; or the other way round.
    together: bool,
    /// Cache line that they share, or shared, from 0.
    line: u64,
    /// Transfers per operation between the two.
    old_rate: f64,
    /// Transfers per operation between them in NEW.
    new_rate: f64,
}

/// Returns the document of a comparison.
pub fn compare_document(comparison: &RecordingComparison) -> CompareDocument<'_> {
    CompareDocument {
        schema: CompareDocument::SCHEMA,
        outcome: outcome_words(comparison),
        worse: comparison.is_worse(),
        margin_percent: 100.0 * comparison.margin,
        workloads: comparison.workloads.iter().map(workload_document).collect(),
        notes: &comparison.notes,
    }
}

fn workload_document(compared: &WorkloadComparison) -> WorkloadDocument<'_> {
    let ComparedWorkload {
        target, name, cpus, ..
    } = &compared.workload;
    WorkloadDocument {
        workload: name,
        target,
        cpus: (*cpus > 0).then_some(*cpus),
        counted: collector_words(&compared.new.meta),
        old: side_document(&compared.old),
        new: side_document(&compared.new),
        total: rate_document(&compared.total),
        subjects: compared.subjects.iter().map(subject_document).collect(),
        notes: &compared.notes,
    }
}

fn side_document(side: &SideWorkload) -> CompareSideDocument<'_> {
    let recordings = side.recordings.iter();
    CompareSideDocument {
        release: &side.meta.release,
        build_id: &side.meta.build_id,
        debug_file: { side.debug_file.as_ref() }
            .ok()
            .map(|file| file.display().to_string()),
        operations: side.operations(),
        recordings: recordings
            .map(|recording| ComparedRecordingDocument {
                profile: recording.profile.display().to_string(),
                seed: recording.extent.seed,
                operations: recording.operations,
                transfers: recording.traffic.transfers,
            })
            .collect(),
    }
}

fn rate_document(rate: &RateChange) -> RateDocument<'_> {
    let percent = |fraction: f64| 100.0 * fraction;
    RateDocument {
        basis: rate.judged.basis.as_str(),
        verdict: rate.judged.verdict.as_str(),
        old_mean: rate.judged.before,
        new_mean: rate.judged.after,
        old: &rate.old,
        new: &rate.new,
        change_percent: rate.judged.change.map(percent),
        ci95_percent: rate.judged.interval.map(|ends| ends.map(percent)),
        p_value: rate.p_value,
        ranges_apart: rate.is_apart(),
    }
}

fn subject_document(change: &SubjectChange) -> SubjectDocument<'_> {
    let subject = &change.subject;
    let type_name = subject.has_members().then(|| subject.type_name());
    SubjectDocument {
        type_name,
        variable: change.subject.variable(),
        rate: rate_document(&change.rate),
        members: change.members.iter().map(member_document).collect(),
        cause: (change.cause.as_ref()).map(|cause| cause_document(change, cause)),
    }
}

fn member_document(member: &MemberChange) -> MemberChangeDocument<'_> {
    let side = |side: &MemberSide| MemberSideDocument {
        offset: side.offset,
        size: side.size,
        rate: side.rate,
    };
    MemberChangeDocument {
        path: &member.path,
        old: member.old.as_ref().map(side),
        new: member.new.as_ref().map(side),
    }
}

fn cause_document<'a>(change: &SubjectChange, cause: &'a ChangeCause) -> CauseDocument<'a> {
    let (kind, pairs) = match cause {
        ChangeCause::NoMembers => ("no-members", Vec::new()),
        ChangeCause::SameLayout => ("same-layout", Vec::new()),
        ChangeCause::OtherThanLayout => ("other-than-layout", Vec::new()),
        ChangeCause::Unknown(_) => ("unknown", Vec::new()),
        ChangeCause::Layout(found) => {
            let pairs = found.hot.pairs.iter().zip(&found.rates);
            let pairs = pairs.map(|(pair, rates)| {
                let members = [pair.first, pair.second].map(|index| &found.hot.moves[index]);
                CausePairDocument {
                    members: members.map(|member| member.member.path.as_str()),
                    old_offsets: members.map(|member| member.old.offset),
                    new_offsets: members.map(|member| member.new.offset),
                    together: pair.together,
                    line: pair.line,
                    old_rate: rates[0],
                    new_rate: rates[1],
                }
            });
            ("layout", pairs.collect())
        }
    };
    CauseDocument {
        kind,
        sentences: cause_sentences(change),
        pairs,
    }
}
