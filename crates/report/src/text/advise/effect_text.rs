//! Text of the accesses to members, and of the effects of layouts.

use std::fmt::Write as _;

use crate::documents::advise::candidate::{
    CandidateDocument, GainDocument, IntervalDocument, LayoutDocument,
};
use crate::documents::advise::evidence::{MemberAccessesDocument, PhaseDocument};
use crate::words::advice::{from_to_words, interval_words};
use crate::words::counted;
use crate::words::wrap::wrap_text;

/// Columns before the words of an effect.
const LABEL_COLUMNS: usize = 15;

/// Appends the accesses to members.
pub(crate) fn push_member_accesses(text: &mut String, accesses: &[MemberAccessesDocument]) {
    if accesses.is_empty() {
        return;
    }
    let width = accesses
        .iter()
        .map(|member_use| member_use.member.len())
        .max()
        .unwrap_or(0);
    text.push_str("Recorded accesses (without repeats that no layout makes a difference to):\n");
    for member_use in accesses {
        let functions: Vec<String> = (member_use.functions.iter())
            .map(|function| format!("{} {}", function.function, function.count))
            .collect();
        let _ = writeln!(
            text,
            "  {:<width$}  {:<5} {:>7} by {}  {}",
            member_use.member,
            member_use.access,
            member_use.count,
            counted(member_use.contexts as u64, "context"),
            functions.join(", ")
        );
    }
    text.push('\n');
}

/// Returns the effects of a layout, counted over the recording.
pub(crate) fn effect_section(
    today: &LayoutDocument,
    candidate: &CandidateDocument,
    name: &str,
) -> String {
    let then = &candidate.layout;
    let mut text = format!("{name}, over all that was recorded in order:\n");
    let mut push_row = |label: &str, words: &str| {
        let line = format!("  {label:<11}  {words}");
        let _ = writeln!(text, "{}", wrap_text(&line, LABEL_COLUMNS));
    };
    if candidate.line_changes.is_empty() {
        push_row("lines", "the accessed members share lines as today");
    }
    for line in &candidate.line_changes {
        push_row("lines", line);
    }
    let first_touch = from_to_words(today.false_first_touch, then.false_first_touch);
    let lifetime = from_to_words(today.false_lifetime, then.false_lifetime);
    push_row(
        "false",
        &format!("by first touch from {first_touch}; by lifetime from {lifetime}"),
    );
    push_row("transfers", &transfers_words(today, candidate));
    if let Some(places) = &candidate.places {
        push_row("places", &places.sentence);
    }
    if let Some(gain) = &candidate.predicted_gain {
        push_row("throughput", &gain_words(gain));
    }
    let upgrades = from_to_words(today.upgrades, then.upgrades);
    let both = from_to_words(
        today.transfers_and_upgrades(),
        then.transfers_and_upgrades(),
    );
    push_row(
        "upgrades",
        &format!("from {upgrades}; transfers and upgrades together from {both}"),
    );
    if let (Some(before), Some(after)) = (today.pair_transfers, then.pair_transfers) {
        let pairs = from_to_words(before, after);
        push_row(
            "pairs",
            &format!("stores to the other line of a pair, from {pairs}"),
        );
    }
    if candidate.unjudged {
        push_row(
            "not counted",
            "what it costs that members come together which were not recorded together",
        );
    }
    text
}

/// Returns the change of the transfers, beside that of the first misses.
fn transfers_words(today: &LayoutDocument, candidate: &CandidateDocument) -> String {
    let then = &candidate.layout;
    let interval = candidate.transfers_change.as_ref();
    let interval = interval.map(IntervalDocument::change);
    let mut text = format!("from {} to {}", today.transfers, then.transfers);
    if let Some(interval) = interval {
        let _ = write!(text, ", {}", interval_words(interval));
    }
    let is_less = interval.is_some_and(|interval| interval.is_less());
    let is_more = interval.is_some_and(|interval| interval.low > 0.0);
    let first_touch_saved = today
        .false_first_touch
        .saturating_sub(then.false_first_touch);
    let saved = today.transfers.saturating_sub(then.transfers);
    match is_less {
        _ if is_more => text.push_str(": more than today"),
        _ if then.transfers > today.transfers => {
            text.push_str(": not clearly more in this recording");
        }
        _ if first_touch_saved > 2 * saved => {
            text.push_str(": most removed misses reappear on another member")
        }
        false => text.push_str(": not clearly fewer in this recording"),
        true => {}
    }
    text
}

fn gain_words(gain: &GainDocument) -> String {
    let IntervalDocument { ratio, low, high } = gain.ratio;
    let runs: Vec<String> = (gain.runs.iter())
        .map(|run| format!("run {}: {:.2}", run.run, run.ratio))
        .collect();
    let doubt = match low <= 1.0 && high >= 1.0 {
        _ if gain.unstable => format!(
            ": a gain in some recordings and a loss in others ({})",
            runs.join(", ")
        ),
        true => ": may be none".to_owned(),
        false => String::new(),
    };
    format!(
        "predicted for {} CPUs, not measured: {ratio:.2} times today's ({low:.2} to {high:.2}){doubt}",
        gain.cpus
    )
}

/// Appends the transfers of today's layout by the offset in a line at which objects begin.
pub(crate) fn push_phases(text: &mut String, phases: &[PhaseDocument]) {
    let mut neighbours = phases.windows(2);
    if neighbours.all(|pair| pair[0].transfers == pair[1].transfers) {
        return;
    }
    let phases: Vec<String> = phases
        .iter()
        .map(|phase| format!("{}: {}", phase.offset, phase.transfers))
        .collect();
    let line = format!(
        "Transfers of today's layout by the place of a line where all objects would begin: {}.",
        phases.join(", ")
    );
    let _ = writeln!(text, "{}", wrap_text(&line, 2));
}
