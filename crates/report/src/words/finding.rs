//! Names and sentences of a finding that several renderings share.

use relayout_contend::FindingSubject;

use super::access::{shown_name, source_words};
use super::percent::percent_of;
use super::source_positions::SourcePositions;
use super::{ContextNoun, counted};
use crate::documents::report::finding::{
    DeclaringDocument, FindingDocument, MemberDocument, PairDocument,
};
use crate::documents::report::{ReportDocument, declaring_document};

/// Type of glibc for a piece of the heap, of which the debug information of libc knows.
const MALLOC_CHUNK: &str = "malloc_chunk";
/// Pairs of instructions of a finding that are shown.
pub(crate) const PAIRS_MAX: usize = 3;

/// `pcpu_chunk +0`, `runqueues (rq) +64`, `pthread_mutex_t, 8 objects`; `file +64, 62% sure`
/// where the type is uncertain.
pub(crate) fn finding_name(finding: &FindingDocument) -> String {
    let place = finding_place(finding);
    match finding.is_type_doubtful() {
        true => format!("{place}, {}% sure", finding.type_confidence_percent),
        false => place,
    }
}

fn finding_place(finding: &FindingDocument) -> String {
    let name = name_words(
        &finding.type_name,
        finding.variable.as_deref(),
        finding.declared_in.as_ref(),
    );
    let elements = { finding.elements.as_ref() }.filter(|elements| elements.member.is_none());
    if let Some(elements) = elements {
        return format!("{name}, {}", counted(elements.count, "element"));
    }
    match finding.places.len() {
        0 | 1 => format!("{name} {:+}", finding.line_offset),
        _ => format!("{name}, {}", counted(finding.objects, "object")),
    }
}

/// Returns the name of a type, or of a variable with its type.
pub(crate) fn subject_name(subject: &FindingSubject) -> String {
    let declaring = subject.declaring().map(declaring_document);
    name_words(subject.type_name(), subject.variable(), declaring.as_ref())
}

fn name_words(
    type_name: &str,
    variable: Option<&str>,
    declaring: Option<&DeclaringDocument>,
) -> String {
    match (variable, declaring) {
        // The allocator's view of memory whose type nothing tells.
        (None, _) if type_name == MALLOC_CHUNK => "heap, type unknown".to_owned(),
        (Some(variable), Some(declaring)) => {
            format!("{variable} of {}", declaring_words(declaring))
        }
        (Some(variable), None) if variable != type_name && !type_name.is_empty() => {
            format!("{variable} ({type_name})")
        }
        (Some(variable), None) => variable.to_owned(),
        (None, _) => type_name.to_owned(),
    }
}

/// Returns the function that declares a variable, with the line: `integrate (omp.c:10)`.
pub(crate) fn declaring_words(declaring: &DeclaringDocument) -> String {
    let DeclaringDocument {
        function,
        file,
        line,
    } = declaring;
    let place = { file.as_deref().zip(*line) }
        .map(|(file, line)| format!(" ({}:{line})", file.rsplit('/').next().unwrap_or(file)));
    format!("{function}{}", place.unwrap_or_default())
}

/// `stat-one on Linux 6.1.0, 4 CPUs: 202483 transfers of cache lines, counted by relayout in the order of the recording,
/// not on hardware.`
pub(crate) fn recording_sentence(report: &ReportDocument) -> String {
    let counted_by = match report.estimated {
        true => "estimated from samples of hardware",
        false => "counted by relayout in the order of the recording, not on hardware",
    };
    let machine = &report.machine;
    let release = match (machine.target.as_str(), machine.release.as_str()) {
        ("kernel", release) if !release.is_empty() => format!(" on Linux {release}"),
        _ => String::new(),
    };
    format!(
        "{}{release}, {}: {} transfers of cache lines, {counted_by}.",
        report.workload,
        counted(machine.contexts.into(), report.context_noun().singular()),
        report.transfers_total,
    )
}

/// `dentry +64, true-sharing: 193927 transfers (96% of all), 11% of them false for the whole stay.`
pub(crate) fn finding_heading(finding: &FindingDocument, all_transfers: u64) -> String {
    let (name, kind) = (finding_name(finding), finding.kind.as_str());
    if let Some(adjacent) = &finding.adjacent {
        return format!(
            "{name}, {kind}: {}, estimated from {}; in no sum of transfers.",
            counted(adjacent.pair_transfers_estimated, "pair transfer"),
            counted(adjacent.samples, "sample"),
        );
    }
    let transfers = finding.transfers;
    format!(
        "{name}, {kind}: {transfers} transfers ({} of all), {} of them false for the whole stay.",
        percent_of(transfers, all_transfers),
        percent_of(finding.false_lifetime, transfers),
    )
}

/// `481536 reads, 241546 writes by 4 CPUs`
pub(crate) fn member_uses(member: &MemberDocument, noun: ContextNoun) -> String {
    match (member.counted, member.writes) {
        (false, _) => "not counted".to_owned(),
        (true, 0) => counted(member.reads, "read"),
        (true, writes) => format!(
            "{}, {} by {}",
            counted(member.reads, "read"),
            counted(writes, "write"),
            counted(member.writers.into(), noun.singular())
        ),
    }
}

/// `82161 transfers of d_iname[] in __d_lookup_rcu fs/dcache.c:226 after stores to d_lockref in lockref_put_or_lock
/// lib/lockref.c:139.`
pub(crate) fn pair_sentence(pair: &PairDocument, sources: &SourcePositions) -> String {
    format!(
        "{} of {} in {} after stores to {} in {}.",
        counted(pair.transfers, "transfer"),
        shown_name(&pair.here.member),
        source_words(&pair.here, sources),
        shown_name(&pair.there.member),
        source_words(&pair.there, sources),
    )
}
