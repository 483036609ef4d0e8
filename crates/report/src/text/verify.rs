//! Text of an experiment with programs: table, notes and verdict.

mod kernel_text;
mod table;

use relayout_verify::judged_change::ChangeVerdict;

use crate::documents::verify::VerifyDocument;
use kernel_text::kernel_text;

/// Renders the tables of both kinds of metrics, the notes and the verdict.
pub fn verify_text(document: &VerifyDocument) -> String {
    if document.kernels.is_some() {
        return kernel_text(document);
    }
    let [before, after] =
        [&document.before, &document.after].map(|command| command.as_deref().unwrap_or_default());
    let mut text = match &document.patch {
        Some(patch) => format!("{before} without and with {patch}\n\n"),
        None => format!("before: {before}\nafter:  {after}\n\n"),
    };
    text.push_str(&table::render_tables(document));
    text.push('\n');
    for note in &document.notes {
        text.push_str(note);
        text.push('\n');
    }
    text.push_str(&format!("verdict: {}\n", verdict_text(document)));
    text
}

fn verdict_text(document: &VerifyDocument) -> String {
    let count = |verdict| {
        let metrics = document.metrics.iter();
        metrics.filter(|metric| metric.verdict == verdict).count()
    };
    let total = document.metrics.len();
    let all = document.verdict.as_str();
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
