//! Words about changes and their causes, which text, mail and document share.

use relayout_diff::TypeDiffDetail;
use relayout_layout::word_lists::word_series;
use relayout_profile::ProfileMeta;
use relayout_profile::program::COMPILED_IN_COLLECTOR;
use relayout_verify::judged_change::ChangeVerdict;
use relayout_workflows::compare::{
    ChangeCause, LayoutCause, MemberChange, MemberSide, RateChange, RecordingComparison,
    SideWorkload, SubjectChange, WorkloadComparison,
};

use crate::words::access::shown_name;
use crate::words::finding::subject_name;
use crate::words::layout_changes::hot::pair_sentences;
use crate::words::layout_changes::shape_pair::ShapePair;
use crate::words::magnitude::value;
use crate::words::percent::signed_percent;
use crate::words::{count_more, counted};

/// Sentences about the layout of one type.
const SENTENCES_MAX: usize = 3;
/// Members of one type that are named.
const MEMBERS_MAX: usize = 3;
/// Difference that a member needs to be named, as a fraction of that of its type.
const MEMBER_SHARE_MIN: f64 = 0.1;
/// Factor from which on an increase is said as a factor.
const TIMES_MIN: f64 = 10.0;
/// Types that a sentence names.
const TYPES_MAX: usize = 4;

/// Says how the counts came about: `counted under QEMU, 4 vCPUs`.
pub(crate) fn collector_words(meta: &ProfileMeta) -> String {
    if meta.target == "kernel" {
        return format!("counted under QEMU, {} vCPUs", meta.contexts);
    }
    match meta.collector.starts_with(COMPILED_IN_COLLECTOR) {
        true => "counted by the compiled-in runtime".to_owned(),
        false => "counted under qemu-user".to_owned(),
    }
}

/// `6.12.117: 8 recordings, 960000 operations`
pub(crate) fn side_words(side: &SideWorkload) -> String {
    let release = match side.meta.release.as_str() {
        "" => "(unknown build)",
        release => release,
    };
    format!(
        "{release}: {}, {:.0} operations",
        counted(side.recordings.len() as u64, "recording"),
        side.operations()
    )
}

/// `1.590 -> 1.250 transfers per operation, -21.4% [-25.0%, -17.5%]`
pub(crate) fn rate_words(change: &RateChange) -> String {
    format!(
        "{} -> {} transfers per operation, {}{}",
        value(change.judged.before),
        value(change.judged.after),
        change_words(change),
        interval_words(change),
    )
}

/// Says the change, or why there is none: only what is judged to be there now is new.
pub(crate) fn change_words(change: &RateChange) -> String {
    match change.judged.change {
        Some(fraction) => fraction_words(fraction),
        None if change.is_new() => "new".to_owned(),
        None if change.is_without_estimate() => "one recording cannot tell".to_owned(),
        None => "no percentage of 0".to_owned(),
    }
}

pub(crate) fn interval_words(change: &RateChange) -> String {
    let words = |ends: [f64; 2]| {
        let [low, high] = ends.map(fraction_words);
        format!(" [{low}, {high}]")
    };
    change.judged.interval.map_or(String::new(), words)
}

/// `-12.3%`, or `25x` for a large increase.
fn fraction_words(change: f64) -> String {
    match change < TIMES_MIN - 1.0 {
        true => signed_percent(change),
        false => format!("{:.0}x", change + 1.0),
    }
}

/// Says in one sentence what got worse and better.
pub(crate) fn outcome_words(comparison: &RecordingComparison) -> String {
    let subjects = || {
        { comparison.workloads.iter() }.flat_map(|workload| {
            let changes = workload.subjects.iter();
            changes.map(move |change| (workload, change))
        })
    };
    let has_several = comparison.workloads.len() > 1;
    let named = |wanted: ChangeVerdict| {
        let names: Vec<String> = subjects()
            .filter(|(_, change)| change.rate.judged.verdict == wanted)
            .map(|(workload, change)| match has_several {
                true => format!("{} ({})", subject_name(&change.subject), workload.workload),
                false => subject_name(&change.subject),
            })
            .collect();
        (!names.is_empty())
            .then(|| format!("{}: {}", wanted.as_str(), word_series(&names, TYPES_MAX)))
    };
    let totals = { comparison.workloads.iter() }
        .filter(|workload| workload.total.judged.verdict == ChangeVerdict::Worse)
        .filter(|_| !comparison.is_partial)
        .map(|workload| match has_several {
            true => format!("all memory worse in {}", workload.workload),
            false => "all memory worse".to_owned(),
        });
    let told: Vec<String> = { named(ChangeVerdict::Worse).into_iter() }
        .chain(totals)
        .chain(named(ChangeVerdict::Better))
        .collect();
    let has_few =
        subjects().any(|(_, change)| change.rate.judged.verdict == ChangeVerdict::Unclear);
    match (told.is_empty(), has_few) {
        (false, _) => told.join("; "),
        (true, true) => {
            "no change can be told, and some may be: record more with `--repeat 8`".to_owned()
        }
        (true, false) => "no change".to_owned(),
    }
}

/// Sentences about the cause of a change.
pub(crate) fn cause_sentences(change: &SubjectChange) -> Vec<String> {
    match &change.cause {
        None => Vec::new(),
        Some(ChangeCause::NoMembers) => vec![
            "the variable has no members: the change comes from code, timing or the variables \
             beside it"
                .to_owned(),
        ],
        Some(ChangeCause::SameLayout) => vec![
            "the layout is the same on both sides: the change comes from code or timing".to_owned(),
        ],
        Some(ChangeCause::OtherThanLayout) => vec![
            "the layout changed, but no two members have these transfers by it: the change comes \
             from code or timing"
                .to_owned(),
        ],
        Some(ChangeCause::Unknown(reason)) => vec![format!("cause unknown: {reason}")],
        Some(ChangeCause::Layout(cause)) => layout_sentences(cause),
    }
}

fn layout_sentences(cause: &LayoutCause) -> Vec<String> {
    let detail = TypeDiffDetail::compare(&cause.old, &cause.new, cause.line_bytes);
    let pair = ShapePair {
        old: &cause.old,
        new: &cause.new,
        detail: &detail,
    };
    let sentences = pair_sentences(&pair, &cause.hot, cause.line_bytes);
    let mut said = 0;
    let mut words: Vec<String> = { sentences.iter().take(SENTENCES_MAX) }
        .map(|sentence| {
            said += sentence.pairs.len();
            let sum = |side: usize| -> f64 {
                let rates = sentence.pairs.iter().map(|index| cause.rates[*index][side]);
                rates.fold(0.0, |sum, rate| sum + rate)
            };
            format!(
                "{} ({} transfers per operation between them before, {} now)",
                sentence.text,
                value(sum(0)),
                value(sum(1))
            )
        })
        .collect();
    let unsaid = cause.hot.pairs.len().saturating_sub(said) as u64;
    if unsaid > 0 {
        words.push(format!(
            "{} of members came onto a line or left it: see --json",
            count_more(unsaid, "pair")
        ));
    }
    words
}

/// `write_protect_seq 0.10 -> 2.30, owner (new) 0.00 -> 1.10`
pub(crate) fn member_words(change: &SubjectChange) -> String {
    let needed = MEMBER_SHARE_MIN * (change.rate.judged.after - change.rate.judged.before).abs();
    let large = { change.members.iter() }
        .filter(|member| member.difference().abs() >= needed && member.difference() != 0.0);
    let words: Vec<String> = large.take(MEMBERS_MAX).map(moved_words).collect();
    words.join(", ")
}

fn moved_words(member: &MemberChange) -> String {
    let rate = |side: &Option<MemberSide>| side.as_ref().map_or(0.0, |side| side.rate);
    format!(
        "{} {} -> {}",
        shown_name(&member.path),
        value(rate(&member.old)),
        value(rate(&member.new))
    )
}

/// Returns the names of the subjects with a verdict.
pub(crate) fn names_with_verdict(
    workload: &WorkloadComparison,
    wanted: ChangeVerdict,
) -> Vec<String> {
    let changes = workload.subjects.iter();
    changes
        .filter(|change| change.rate.judged.verdict == wanted)
        .map(|change| subject_name(&change.subject))
        .collect()
}
