//! A predicted curve as text.

use std::fmt::Write;

use relayout_layout::word_lists::word_list;
use relayout_timed::{CurvePoint, PredictedCurve};

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
pub(crate) fn push_curve(text: &mut String, layout_name: &str, curve: &PredictedCurve) {
    let heading = format!(
        "Predicted gain of {layout_name} by the number of CPUs on {}. The timed model predicts it; \
         nothing of it is measured.",
        curve.machine
    );
    let _ = writeln!(text, "{}", wrap_text(&heading, 0));
    for (head, marked) in HEADS.iter().zip(MARKED_HEADS) {
        let marked = if curve.has_marks { marked } else { "" };
        let _ = writeln!(text, "{head}{marked}");
    }
    for point in &curve.points {
        push_point(text, curve, point);
    }
    for sentence in sentences(curve) {
        let _ = writeln!(text, "{}", wrap_text(&sentence, 2));
    }
    text.push('\n');
}

fn push_point(text: &mut String, curve: &PredictedCurve, point: &CurvePoint) {
    let percent = |share: f64| (share * 100.0).abs();
    let _ = write!(
        text,
        "  {:5}  {:4.2}  {:4.2} to {:4.2} {:9.0}% {:5.0}%",
        point.cpus,
        point.ratio,
        point.low,
        point.high,
        percent(point.today_waiting),
        percent(point.changed_waiting),
    );
    if curve.has_marks {
        let [today, then] = [point.today_per_second, point.changed_per_second];
        let _ = write!(text, " {:9.2} {:8.2}", today / 1e6, then / 1e6);
    }
    let is_beyond = point.cpus > curve.published_to;
    let _ = writeln!(text, "{}", if is_beyond { "  *" } else { "" });
}

/// Returns what the table does not say.
fn sentences(curve: &PredictedCurve) -> Vec<String> {
    let mut sentences = Vec::new();
    if curve
        .points
        .iter()
        .any(|point| point.cpus > curve.published_to)
    {
        sentences.push(format!(
            "* An extrapolation: the model was held against published gains up to {} CPUs.",
            curve.published_to
        ));
    }
    let last = curve.points.last();
    sentences.extend(last.and_then(|point| context_sentence(curve, point)));
    if let Some(cpus) = curve.saturates_at {
        sentences.push(format!(
            "Today, more than {cpus} CPUs hardly add throughput."
        ));
    }
    sentences.extend(
        curve
            .points
            .last()
            .and_then(|last| waiting_sentence(curve, last)),
    );
    sentences.extend(think_sentence(curve));
    let rules: Vec<String> = { curve.rule_effects.iter() }
        .filter(|effect| !effect.is_measured)
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
fn think_sentence(curve: &PredictedCurve) -> Option<String> {
    let effects = curve.think_effects.iter().map(|effect| {
        let ratio = effect.ratio;
        format!("{ratio:.2} with {:.0} ns", effect.think_ns)
    });
    let words: Vec<String> = effects.collect();
    let cpus = curve.effect_cpus;
    (!words.is_empty()).then(|| {
        format!(
            "Gain on {cpus} CPUs by further time of the program between operations (--think): {}.",
            words.join(", ")
        )
    })
}

/// Returns what the gain is of where no operations are marked, with the gains by context.
fn context_sentence(curve: &PredictedCurve, point: &CurvePoint) -> Option<String> {
    if curve.has_marks {
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
fn waiting_sentence(curve: &PredictedCurve, point: &CurvePoint) -> Option<String> {
    let lines = curve.waiting_lines(point).into_iter();
    let words: Vec<String> = { lines.filter(|(_, waiting)| *waiting >= WAITING_MIN) }
        .take(LINES_SHOWN)
        .map(|(line, waiting)| format!("{line} {}", whole_percent(waiting)))
        .collect();
    let cpus = point.cpus;
    (!words.is_empty()).then(|| {
        format!(
            "Time of {cpus} CPUs that waits today, by line: {}.",
            words.join(", ")
        )
    })
}
