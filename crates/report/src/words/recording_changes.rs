//! Words about changes and their causes, which text, mail and document share.

use relayout_diff::TypeDiffDetail;
use relayout_layout::word_lists::word_series;
use relayout_profile::ProfileMeta;
use relayout_profile::program::COMPILED_IN_COLLECTOR;
use relayout_verify::judged_change::ChangeVerdict;
use relayout_workflows::compare::{
    ChangeCause, LayoutCause, RateChange, RecordingComparison, SubjectChange,
};

use crate::documents::compare::{
    CarriedLayoutsDocument, CompareSideDocument, MemberSideDocument, RateDocument,
    SimulatedRateDocument, SubjectDocument,
};
use crate::words::access::shown_name;
use crate::words::finding::subject_name;
use crate::words::layout_changes::hot::pair_sentences;
use crate::words::layout_changes::shape_pair::ShapePair;
use crate::words::magnitude::value;
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

/// Says how the counts came about: `counted under QEMU, 4 vCPUs`, or `counted under QEMU in the order of rome-2s
/// (pack)`.
pub(crate) fn collector_words(meta: &ProfileMeta) -> String {
    if let Some(machine) = &meta.simulated_machine {
        return format!("counted under QEMU in the order of {machine}");
    }
    if meta.target == "kernel" {
        return format!("counted under QEMU, {} vCPUs", meta.contexts);
    }
    match meta.collector.starts_with(COMPILED_IN_COLLECTOR) {
        true => "counted by the compiled-in runtime".to_owned(),
        false => "counted under qemu-user".to_owned(),
    }
}

/// `Operations a second, simulated: 6.620 to 8.468 million, 1.28 times, by the expected rules of the machine. No verdict is made of
/// that.`
pub(crate) fn simulated_rate_words(rate: &SimulatedRateDocument) -> String {
    let ratio = match (rate.ratio, rate.low, rate.high) {
        (Some(ratio), Some(low), Some(high)) => {
            format!(", {ratio:.2} times ({low:.2} to {high:.2} by the recordings)")
        }
        (Some(ratio), ..) => format!(", {ratio:.2} times"),
        (None, ..) => String::new(),
    };
    format!(
        "Operations a second, simulated: {:.3} to {:.3} million{ratio}, by the expected rules of the machine. No verdict is made of that: \
         builds differ in more than layouts.",
        rate.old / 1e6,
        rate.new / 1e6,
    )
}

/// `OLD with the layout of dentry that NEW has: 1.28 times the operations (1.01 to 1.63 over 8 draws), better, simulated.`
pub(crate) fn carried_layouts_words(carried: &CarriedLayoutsDocument) -> String {
    let types = word_series(&carried.types, TYPES_MAX);
    let Some(point) = carried.predicted_curve.curve.first() else {
        return format!("OLD with the layout of {types} that NEW has was not executed.");
    };
    let ratio = point.ratio.map_or_else(
        || "no operation ended in the simulated window".to_owned(),
        |ratio| format!("{ratio:.2} times the operations"),
    );
    let interval = match (point.low, point.high) {
        (Some(low), Some(high)) => {
            let draws = counted(point.draws as u64, "draw");
            format!(" ({low:.2} to {high:.2} over {draws})")
        }
        _ => String::new(),
    };
    let mut words = format!(
        "OLD with the layout of {types} that NEW has: {ratio}{interval}, {}, simulated.",
        point.verdict
    );
    if point.too_short {
        words.push_str(" CPUs wait for locks, and the window is too short for them to settle.");
    }
    if !carried.left_behind.is_empty() {
        words.push_str(&format!(
            " {}, which NEW has not, or with fewer bytes, lie where it has others, or behind all.",
            word_series(&carried.left_behind, TYPES_MAX)
        ));
    }
    words
}

/// `6.12.117: 8 recordings, 960000 operations`
pub(crate) fn side_words(side: &CompareSideDocument) -> String {
    let release = match side.release.as_str() {
        "" => "(unknown build)",
        release => release,
    };
    format!(
        "{release}: {}, {:.0} operations",
        counted(side.recordings.len() as u64, "recording"),
        side.operations
    )
}

/// `1.590 -> 1.250 transfers per operation, -21.4% [-25.0%, -17.5%]`
pub(crate) fn rate_words(rate: &RateDocument) -> String {
    format!(
        "{} -> {} transfers per operation, {}",
        value(rate.old_mean),
        value(rate.new_mean),
        change_words(rate),
    )
}

/// Says the change with its interval, or why there is none.
pub(crate) fn change_words(rate: &RateDocument) -> String {
    let change = match (rate.change_percent, &rate.change_why) {
        (Some(percent), _) => percent_words(percent),
        (None, why) => why.clone().unwrap_or_default(),
    };
    let interval = rate.ci95_percent.map_or(String::new(), |ends| {
        let [low, high] = ends.map(percent_words);
        format!(" [{low}, {high}]")
    });
    change + &interval
}

/// `-12.3%`, or `25x` for a large increase.
fn percent_words(percent: f64) -> String {
    match percent < 100.0 * (TIMES_MIN - 1.0) {
        true => format!("{percent:+.1}%"),
        false => format!("{:.0}x", percent / 100.0 + 1.0),
    }
}

/// Returns the reason why a change has no percentage. Only a rate that is judged to be there now is new.
pub(crate) fn change_reason(change: &RateChange) -> Option<&'static str> {
    match change.judged.change {
        Some(_) => None,
        None if change.is_new() => Some("new"),
        None if change.is_without_estimate() => Some("one recording cannot tell"),
        None => Some("no percentage of 0"),
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
        Some(ChangeCause::OtherThanPairs(_)) => vec![
            "the layout changed, but no two members of an object have these transfers by it: the change comes from code, \
             timing, or objects that share lines otherwise"
                .to_owned(),
        ],
        Some(ChangeCause::Unknown(reason)) => vec![format!("cause unknown: {reason}")],
        Some(ChangeCause::Layout(cause)) => layout_sentences(cause),
    }
}

fn layout_sentences(cause: &LayoutCause) -> Vec<String> {
    let detail = TypeDiffDetail::compare(&cause.layouts.old, &cause.layouts.new, cause.line_bytes);
    let pair = ShapePair {
        old: &cause.layouts.old,
        new: &cause.layouts.new,
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
pub(crate) fn member_words(subject: &SubjectDocument) -> String {
    let needed = MEMBER_SHARE_MIN * (subject.rate.new_mean - subject.rate.old_mean).abs();
    let rate = |side: &Option<MemberSideDocument>| side.as_ref().map_or(0.0, |side| side.rate);
    let changes = subject.members.iter();
    let changes = changes.map(|member| (&member.path, rate(&member.old), rate(&member.new)));
    let large = changes.filter(|(_, old, new)| (new - old).abs() >= needed && new != old);
    let words: Vec<String> = { large.take(MEMBERS_MAX) }
        .map(|(path, old, new)| format!("{} {} -> {}", shown_name(path), value(old), value(new)))
        .collect();
    words.join(", ")
}
