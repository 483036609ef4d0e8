//! `relayout/compare/1`: a comparison of recordings for scripts.
//!
//! Rates are transfers per operation. Changes and intervals are in percent of the old rate.

use relayout_contend::FindingSubject;
use relayout_session::compare::{
    ChangeCause, ComparedWorkload, MemberChange, MemberSide, RateChange, RecordingComparison,
    SideWorkload, SubjectChange, WorkloadComparison,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::change_words::{cause_sentences, collector_words, outcome_words};
use crate::Document;

/// The document of `compare --json`.
#[derive(Serialize, JsonSchema)]
pub struct CompareDocument<'a> {
    schema: &'static str,
    /// The outcome in a sentence.
    outcome: String,
    /// A type, a variable or the whole of a workload got worse.
    worse: bool,
    /// Changes below this are none.
    margin_percent: f64,
    workloads: Vec<WorkloadDocument<'a>>,
    notes: &'a [String],
}

impl Document for CompareDocument<'_> {
    const SCHEMA: &'static str = "relayout/compare/1";
}

#[derive(Serialize, JsonSchema)]
struct WorkloadDocument<'a> {
    workload: &'a str,
    /// `kernel` or `program`.
    target: &'a str,
    /// CPUs of the guest; null for programs.
    cpus: Option<u16>,
    /// Says how the counts came about.
    counted: String,
    old: CompareSideDocument<'a>,
    new: CompareSideDocument<'a>,
    total: RateDocument<'a>,
    subjects: Vec<SubjectDocument<'a>>,
    notes: &'a [String],
}

#[derive(Serialize, JsonSchema)]
struct CompareSideDocument<'a> {
    release: &'a str,
    build_id: &'a str,
    debug_file: Option<String>,
    operations: f64,
    recordings: Vec<ComparedRecordingDocument>,
}

#[derive(Serialize, JsonSchema)]
struct ComparedRecordingDocument {
    profile: String,
    seed: u64,
    operations: f64,
    transfers: u64,
}

#[derive(Serialize, JsonSchema)]
struct RateDocument<'a> {
    verdict: &'static str,
    old_mean: f64,
    new_mean: f64,
    /// Rate in each recording, in the order of the recordings.
    old: &'a [f64],
    new: &'a [f64],
    /// Null where the old rate is 0.
    change_percent: Option<f64>,
    ci95_percent: Option<[f64; 2]>,
    p_value: f64,
    /// No rate of one side lies within those of the other.
    ranges_apart: bool,
}

#[derive(Serialize, JsonSchema)]
struct SubjectDocument<'a> {
    #[serde(rename = "type")]
    type_name: Option<&'a str>,
    variable: Option<&'a str>,
    rate: RateDocument<'a>,
    members: Vec<MemberChangeDocument<'a>>,
    /// Null unless the verdict is better or worse.
    cause: Option<CauseDocument<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct MemberChangeDocument<'a> {
    /// Empty for holes.
    path: &'a str,
    old: Option<MemberSideDocument>,
    new: Option<MemberSideDocument>,
}

#[derive(Serialize, JsonSchema)]
struct MemberSideDocument {
    /// Bytes from the start of the object, of the element with most transfers.
    offset: u64,
    size: u64,
    /// Transfers per operation.
    rate: f64,
}

#[derive(Serialize, JsonSchema)]
struct CauseDocument<'a> {
    /// `layout`, `no-members`, `same-layout`, `other-than-layout` or `unknown`.
    kind: &'static str,
    sentences: Vec<String>,
    /// Pairs of members that came onto a line or left it, and whose transfers changed with it.
    pairs: Vec<CausePairDocument<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct CausePairDocument<'a> {
    members: [&'a str; 2],
    old_offsets: [u64; 2],
    new_offsets: [u64; 2],
    /// They share a line in the new build, and did not before; or the other way round.
    together: bool,
    line: u64,
    /// Transfers per operation between the two.
    old_rate: f64,
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
    let ComparedWorkload { target, name, cpus } = &compared.workload;
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
                seed: recording.seed,
                operations: recording.operations,
                transfers: recording.traffic.transfers,
            })
            .collect(),
    }
}

fn rate_document(rate: &RateChange) -> RateDocument<'_> {
    let percent = |fraction: f64| 100.0 * fraction;
    RateDocument {
        verdict: rate.verdict.as_str(),
        old_mean: rate.old_mean(),
        new_mean: rate.new_mean(),
        old: &rate.old,
        new: &rate.new,
        change_percent: rate.change.map(percent),
        ci95_percent: rate.interval.map(|ends| ends.map(percent)),
        p_value: rate.p_value,
        ranges_apart: rate.is_apart(),
    }
}

fn subject_document(change: &SubjectChange) -> SubjectDocument<'_> {
    let type_name = match &change.subject {
        FindingSubject::Scalar { .. } => None,
        subject => Some(subject.type_name()),
    };
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
