//! A predicted curve as text.

use std::fmt::Write;

use relayout_layout::word_lists::word_list;

use crate::documents::advise::curve::{CurveDocument, CurvePointDocument};
use crate::words::percent::whole_percent;
use crate::words::wrap::wrap_text;

/// Rules that are named, most decisive first.
const RULES_SHOWN: usize = 3;
/// Lines that are named, most waited for first.
const LINES_SHOWN: usize = 3;
/// Contexts that are named.
const CONTEXTS_SHOWN: usize = 8;
/// Fraction of the time from which on a line is named.
const WAITING_MIN: f64 = 0.005;

/// Heads of the columns, and those of what the workload's marks tell.
const HEADS: [&str; 2] = [
    "                             waiting for lines",
    "   CPUs  gain  interval        today   then",
];
const MARKED_HEADS: [&str; 2] = ["   million operations/s", "     today     then"];

/// Appends the curve of a layout.
pub(crate) fn push_curve(text: &mut String, layout_name: &str, curve: &CurveDocument) {
    let heading = format!(
        "Predicted gain of {layout_name} by the number of CPUs on {}. The timed model predicts it; \
         nothing of it is measured.",
        curve.machine
    );
    let _ = writeln!(text, "{}", wrap_text(&heading, 0));
    let has_marks = curve.curve.iter().any(CurvePointDocument::has_marks);
    for (head, marked) in HEADS.iter().zip(MARKED_HEADS) {
        let marked = if has_marks { marked } else { "" };
        let _ = writeln!(text, "{head}{marked}");
    }
    for point in &curve.curve {
        push_point(text, point);
    }
    for sentence in sentences(curve) {
        let _ = writeln!(text, "{}", wrap_text(&sentence, 2));
    }
    text.push('\n');
}

fn push_point(text: &mut String, point: &CurvePointDocument) {
    let percent = |share: f64| (share * 100.0).abs();
    let _ = write!(
        text,
        "  {:5}  {:4.2}  {:4.2} to {:4.2} {:9.0}% {:5.0}%",
        point.cpus,
        point.ratio,
        point.low,
        point.high,
        percent(point.waiting_today),
        percent(point.waiting),
    );
    if let (Some(today), Some(then)) = (
        point.operations_per_second_today,
        point.operations_per_second,
    ) {
        let _ = write!(text, " {:9.2} {:8.2}", today / 1e6, then / 1e6);
    }
    let _ = writeln!(text, "{}", if point.extrapolated { "  *" } else { "" });
}

/// Returns what the table does not say.
fn sentences(curve: &CurveDocument) -> Vec<String> {
    let mut sentences = Vec::new();
    if curve.curve.iter().any(|point| point.extrapolated) {
        sentences.push(format!(
            "* An extrapolation: the model was held against published gains up to {} CPUs.",
            curve.published_to
        ));
    }
    let last = curve.curve.last();
    sentences.extend(last.and_then(context_sentence));
    if let Some(cpus) = curve.saturates_at {
        sentences.push(format!(
            "Today, more than {cpus} CPUs hardly add throughput."
        ));
    }
    sentences.extend(last.and_then(waiting_sentence));
    sentences.extend(think_sentence(curve));
    let rules: Vec<String> = { curve.rules.iter() }
        .filter(|effect| !effect.measured)
        .take(RULES_SHOWN)
        .map(|effect| {
            format!(
                "{} ({:.2} to {:.2})",
                effect.rule, effect.at_low, effect.at_high
            )
        })
        .collect();
    if !rules.is_empty() {
        sentences.push(format!(
            "Not measured, and what decides most on {} CPUs: {}.",
            curve.effect_cpus,
            rules.join("; ")
        ));
    }
    sentences
}

/// Returns the gains by the program's own time between operations.
fn think_sentence(curve: &CurveDocument) -> Option<String> {
    let effects = curve.think.iter().map(|effect| {
        let ratio = effect.ratio;
        format!("{ratio:.2} with {:.0} ns", effect.think_ns)
    });
    let words: Vec<String> = effects.collect();
    let cpus = curve.effect_cpus;
    (!words.is_empty()).then(|| {
        format!(
            "Gain on {cpus} CPUs by further time of the program between operations (--user-time): {}.",
            words.join(", ")
        )
    })
}

/// Returns what the gain is of where no operations are marked, with the gains by context.
fn context_sentence(point: &CurvePointDocument) -> Option<String> {
    if point.has_marks() {
        return None;
    }
    if point.by_context.is_empty() {
        return Some(
            "No operations are marked: gain is that of the work in a second. Contexts take turns at locks for which they \
             sleep, so none has a gain of its own."
                .to_owned(),
        );
    }
    let gains = point.by_context.iter();
    let words: Vec<String> = gains
        .map(|gain| {
            let [ratio, low, high] = [gain.ratio, gain.low, gain.high];
            format!("{} {ratio:.2} ({low:.2} to {high:.2})", gain.context)
        })
        .collect();
    Some(format!(
        "No operations are marked: gain is that of the time for what each context did. By context on {} CPUs: {}.",
        point.cpus,
        word_list(&words, CONTEXTS_SHOWN)
    ))
}

/// Returns the lines that CPUs wait for longest today.
fn waiting_sentence(point: &CurvePointDocument) -> Option<String> {
    let lines = point.lines_today.iter();
    let words: Vec<String> = { lines.filter(|line| line.waiting >= WAITING_MIN) }
        .take(LINES_SHOWN)
        .map(|line| format!("{} {}", line.line, whole_percent(line.waiting)))
        .collect();
    let cpus = point.cpus;
    (!words.is_empty()).then(|| {
        format!(
            "Time of {cpus} CPUs that waits today, by line: {}.",
            words.join(", ")
        )
    })
}
