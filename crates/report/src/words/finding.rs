//! Words and lines of a finding that mails, pictures and SARIF share.

use relayout_contend::finding::{ConflictPair, FindingMember};
use relayout_contend::{DeclaringFunction, Finding, FindingSubject};

use crate::ReportContents;
use crate::words::access::{shown_name, source_words};
use crate::words::percent::percent_of;
use crate::words::source_positions::SourcePositions;
use crate::words::{ContextNoun, counted};

/// Pairs of instructions of a finding that are shown.
pub(crate) const PAIRS_MAX: usize = 3;
/// Members of a finding that have a letter.
pub(crate) const MEMBERS_MAX: usize = 26;

/// `pcpu_chunk +0`, `runqueues (rq) +64`, `pthread_mutex_t, 8 objects`; `file +64, 62% sure`
/// where the type is uncertain.
pub(crate) fn finding_name(finding: &Finding) -> String {
    let place = finding_place(finding);
    match finding.type_confidence.is_doubtful() {
        true => format!("{place}, {}% sure", finding.type_confidence.least_percent),
        false => place,
    }
}

/// Returns the name of a type, or of a variable with its type.
pub(crate) fn subject_name(subject: &FindingSubject) -> String {
    if let FindingSubject::Local { name, declaring } = subject {
        return format!("{name} of {}", declaring_words(declaring));
    }
    match subject.variable() {
        Some(variable) if variable != subject.type_name() && !subject.type_name().is_empty() => {
            format!("{variable} ({})", subject.type_name())
        }
        Some(variable) => variable.to_owned(),
        None => subject.type_name().to_owned(),
    }
}

/// Returns the function that declares a variable, with the line: `integrate (omp.c:10)`.
pub(crate) fn declaring_words(declaring: &DeclaringFunction) -> String {
    let DeclaringFunction { name, file, line } = declaring;
    let place = { file.as_deref().zip(*line) }
        .map(|(file, line)| format!(" ({}:{line})", file.rsplit('/').next().unwrap_or(file)));
    format!("{name}{}", place.unwrap_or_default())
}

fn finding_place(finding: &Finding) -> String {
    let name = subject_name(&finding.subject);
    let elements = { finding.elements.as_ref() }.filter(|elements| elements.member.is_none());
    if let Some(elements) = elements {
        return format!("{name}, {}", counted(elements.count, "element"));
    }
    match finding.places.len() {
        0 | 1 => format!("{name} {:+}", finding.line_offset),
        _ => format!("{name}, {}", counted(finding.objects, "object")),
    }
}

/// `stat-one on Linux 6.1.0, 4 CPUs: 202483 transfers of cache lines, counted by relayout in the order of the recording,
/// not on hardware.`
pub(crate) fn recording_sentence(report: &ReportContents) -> String {
    let ReportContents { meta, findings, .. } = report;
    let counted_by = match findings.estimated {
        true => "estimated from samples of hardware",
        false => "counted by relayout in the order of the recording, not on hardware",
    };
    let release = match (meta.target.as_str(), meta.release.as_str()) {
        ("kernel", release) if !release.is_empty() => format!(" on Linux {release}"),
        _ => String::new(),
    };
    format!(
        "{}{release}, {}: {} transfers of cache lines, {counted_by}.",
        meta.workload,
        counted(
            meta.contexts.into(),
            ContextNoun::from_meta(meta).singular()
        ),
        findings.totals.tally.transfers(),
    )
}

/// `dentry +64, true-sharing: 193927 transfers (96% of all), 11% of them false for the whole stay.`
pub(crate) fn finding_heading(finding: &Finding, all_transfers: u64) -> String {
    let (name, kind) = (finding_name(finding), finding.kind.as_str());
    if let Some(adjacent) = &finding.adjacent {
        return format!(
            "{name}, {kind}: {}, estimated from {}; in no sum of transfers.",
            counted(adjacent.pair_transfers, "pair transfer"),
            counted(adjacent.samples, "sample"),
        );
    }
    let transfers = finding.tally.transfers();
    format!(
        "{name}, {kind}: {transfers} transfers ({} of all), {} of them false for the whole stay.",
        percent_of(transfers, all_transfers),
        percent_of(finding.tally.false_lifetime, transfers),
    )
}

/// Returns the offsets of the lines of a finding, in order.
pub(crate) fn pictured_lines(finding: &Finding) -> Vec<i64> {
    let places = finding.places.iter().map(|place| place.line_offset);
    let adjacent = finding.adjacent.as_ref();
    let other_line = adjacent.map(|_| finding.line_offset + i64::from(finding.line_bytes));
    let mut lines: Vec<i64> = places
        .chain([finding.line_offset])
        .chain(other_line)
        .collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

/// Returns the members with the most transfers, at most `count` of them, by offset.
pub(crate) fn first_members(finding: &Finding, count: usize) -> Vec<&FindingMember> {
    let mut members: Vec<&FindingMember> = finding.members.iter().collect();
    members.sort_by_key(|member| std::cmp::Reverse(member.transfers));
    members.truncate(count);
    members.sort_by_key(|member| member.offset);
    members
}

/// Returns the members with their letters; those that somebody stores to have capitals.
pub(crate) fn lettered_members<'f>(
    members: &[&'f FindingMember],
) -> impl Iterator<Item = (char, &'f FindingMember)> {
    ('a'..='z')
        .zip(members.iter().copied())
        .map(|(letter, member)| {
            let letter = match member.writes > 0 {
                true => letter.to_ascii_uppercase(),
                false => letter,
            };
            (letter, member)
        })
}

/// `481536 reads, 241546 writes by 4 CPUs`
pub(crate) fn member_uses(member: &FindingMember, noun: ContextNoun) -> String {
    match (member.is_counted(), member.writes) {
        (false, _) => "not counted".to_owned(),
        (true, 0) => counted(member.reads, "read"),
        (true, writes) => format!(
            "{}, {} by {}",
            counted(member.reads, "read"),
            counted(writes, "write"),
            counted(member.writers().into(), noun.singular())
        ),
    }
}

/// `82161 transfers of d_iname[] in __d_lookup_rcu fs/dcache.c:226 after stores to d_lockref in lockref_put_or_lock
/// lib/lockref.c:139.`
pub(crate) fn pair_sentence(pair: &ConflictPair, sources: &SourcePositions) -> String {
    format!(
        "{} of {} in {} after stores to {} in {}.",
        counted(pair.tally.transfers(), "transfer"),
        shown_name(&pair.here.member),
        source_words(&pair.here, sources),
        shown_name(&pair.there.member),
        source_words(&pair.there, sources),
    )
}
