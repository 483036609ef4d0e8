//! The document of a comparison, from the comparison.

use relayout_verify::judged_change::ChangeBasis;
use relayout_workflows::compare::{
    CarriedLayouts, ChangeCause, ComparedWorkload, MemberChange, MemberSide, RateChange,
    RecordingComparison, SideWorkload, SubjectChange, ThroughputChange, WorkloadComparison,
};

use super::{
    CarriedLayoutsDocument, CauseDocument, CausePairDocument, CompareDocument, CompareSideDocument,
    ComparedRecordingDocument, MemberChangeDocument, MemberSideDocument, RateDocument,
    SimulatedRateDocument, SubjectDocument, WorkloadDocument,
};
use crate::Document;
use crate::documents::advise::simulated_curve::SimulatedCurveDocument;
use crate::words::finding::subject_name;
use crate::words::recording_changes::{
    cause_sentences, change_reason, collector_words, outcome_words,
};

/// Returns the document of a comparison.
pub fn compare_document(comparison: &RecordingComparison) -> CompareDocument {
    CompareDocument {
        schema: CompareDocument::SCHEMA.to_owned(),
        outcome: outcome_words(comparison),
        worse: comparison.is_worse(),
        margin_percent: 100.0 * comparison.margin,
        workloads: comparison.workloads.iter().map(workload_document).collect(),
        notes: comparison.notes.clone(),
    }
}

fn workload_document(compared: &WorkloadComparison) -> WorkloadDocument {
    let ComparedWorkload {
        target, name, cpus, ..
    } = &compared.workload;
    WorkloadDocument {
        workload: name.clone(),
        target: target.clone(),
        cpus: (*cpus > 0).then_some(*cpus),
        counted: collector_words(&compared.new.meta),
        old: side_document(&compared.old),
        new: side_document(&compared.new),
        rate: compared.throughput.as_ref().map(simulated_rate_document),
        carried_layouts: compared.carried.iter().map(carried_document).collect(),
        total: rate_document(&compared.total),
        subjects: compared.subjects.iter().map(subject_document).collect(),
        notes: compared.notes.clone(),
    }
}

fn side_document(side: &SideWorkload) -> CompareSideDocument {
    let recordings = side.recordings.iter();
    CompareSideDocument {
        release: side.meta.release.clone(),
        build_id: side.meta.build_id.clone(),
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

fn carried_document(carried: &CarriedLayouts) -> CarriedLayoutsDocument {
    let names = format!("NEW's {}", carried.types.join(", "));
    CarriedLayoutsDocument {
        types: carried.types.clone(),
        left_behind: carried.left_behind.clone(),
        predicted_curve: SimulatedCurveDocument::new(&names, &carried.change),
    }
}

fn simulated_rate_document(throughput: &ThroughputChange) -> SimulatedRateDocument {
    let [old, new] = throughput.medians();
    let (low, high) = throughput.extremes().unzip();
    SimulatedRateDocument {
        basis: ChangeBasis::Simulated,
        old,
        new,
        ratio: throughput.ratio(),
        low,
        high,
        old_recordings: throughput.old.clone(),
        new_recordings: throughput.new.clone(),
    }
}

fn rate_document(rate: &RateChange) -> RateDocument {
    let percent = |fraction: f64| 100.0 * fraction;
    RateDocument {
        basis: rate.judged.basis,
        verdict: rate.judged.verdict,
        old_mean: rate.judged.before,
        new_mean: rate.judged.after,
        old: rate.old.clone(),
        new: rate.new.clone(),
        change_percent: rate.judged.change.map(percent),
        change_why: change_reason(rate).map(str::to_owned),
        ci95_percent: rate.judged.interval.map(|ends| ends.map(percent)),
        p_value: rate.p_value,
        ranges_apart: rate.is_apart(),
    }
}

fn subject_document(change: &SubjectChange) -> SubjectDocument {
    let subject = &change.subject;
    let type_name = subject
        .has_members()
        .then(|| subject.type_name().to_owned());
    SubjectDocument {
        name: subject_name(subject),
        type_name,
        variable: subject.variable().map(str::to_owned),
        rate: rate_document(&change.rate),
        members: change.members.iter().map(member_document).collect(),
        cause: (change.cause.as_ref()).map(|cause| cause_document(change, cause)),
    }
}

fn member_document(member: &MemberChange) -> MemberChangeDocument {
    let side = |side: &MemberSide| MemberSideDocument {
        offset: side.offset,
        size: side.size,
        rate: side.rate,
    };
    MemberChangeDocument {
        path: member.path.clone(),
        old: member.old.as_ref().map(side),
        new: member.new.as_ref().map(side),
    }
}

fn cause_document(change: &SubjectChange, cause: &ChangeCause) -> CauseDocument {
    let (kind, pairs) = match cause {
        ChangeCause::NoMembers => ("no-members", Vec::new()),
        ChangeCause::SameLayout => ("same-layout", Vec::new()),
        ChangeCause::OtherThanPairs(_) => ("no-pair", Vec::new()),
        ChangeCause::Unknown(_) => ("unknown", Vec::new()),
        ChangeCause::Layout(found) => {
            let pairs = found.hot.pairs.iter().zip(&found.rates);
            let pairs = pairs.map(|(pair, rates)| {
                let members = [pair.first, pair.second].map(|index| &found.hot.moves[index]);
                CausePairDocument {
                    members: members.map(|member| member.member.path.clone()),
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
        kind: kind.to_owned(),
        sentences: cause_sentences(change),
        pairs,
    }
}
