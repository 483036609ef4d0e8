//! Text of an experiment with programs: table, notes and verdict.

pub(crate) mod table;

use relayout_verify::judge::ExperimentOutcome;
use relayout_verify::judged_change::ChangeVerdict;

use crate::documents::verify::contents::VerifyContents;

/// Renders the tables of both kinds of metrics, the notes and the verdict.
pub fn render_text(contents: &VerifyContents<'_>) -> String {
    let (runs, outcome, details) = (contents.runs, contents.outcome(), contents.details());
    let mut text = String::new();
    let setup = &runs.setup;
    match &setup.patch {
        Some(patch) => text.push_str(&format!("{} without and with {patch}\n\n", setup.before)),
        None => text.push_str(&format!(
            "before: {}\nafter:  {}\n\n",
            setup.before, setup.after
        )),
    }
    text.push_str(&table::render_tables(outcome, details));
    text.push('\n');
    for note in contents.all_notes() {
        text.push_str(&note);
        text.push('\n');
    }
    text.push_str(&format!("verdict: {}\n", verdict_text(outcome)));
    text
}

fn verdict_text(outcome: &ExperimentOutcome) -> String {
    let count = |verdict| {
        outcome
            .metrics
            .iter()
            .filter(|metric| metric.judged.verdict == verdict)
            .count()
    };
    let total = outcome.metrics.len();
    let all = outcome.verdict.as_str();
    if total <= 1 {
        return all.to_owned();
    }
    let order = [
        ChangeVerdict::Better,
        ChangeVerdict::Worse,
        ChangeVerdict::Same,
        ChangeVerdict::Unclear,
    ];
    let counts = order.map(|verdict| (verdict.as_str(), count(verdict)));
    let counts = counts.iter().filter(|(_, count)| *count > 0);
    let counts: Vec<String> = counts
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    format!("{all} ({} of {total})", counts.join(", "))
}
