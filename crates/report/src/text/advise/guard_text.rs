//! Text of guarded stores.

use std::fmt::Write as _;

use crate::documents::advise::candidate::{CandidateDocument, LayoutDocument};
use crate::documents::advise::pool::GuardDocument;
use crate::text::advise::{push_best_and_scenarios, shown_candidates, table};
use crate::words::advice::guards::GUARD_RACE_NOTE;
use crate::words::advice::interval_words;
use crate::words::counted;
use crate::words::wrap::wrap_text;

/// Appends the sentences, and the layouts with guards where they are clearly better.
pub(crate) fn push_guard_section(
    text: &mut String,
    today: &LayoutDocument,
    guards: &GuardDocument,
) {
    let _ = writeln!(text, "\n{}", wrap_text(&guards.summary, 0));
    if !guards.better {
        text.push_str("The check is not clearly better than layouts without it.\n");
        return;
    }
    let shown = shown_candidates(&guards.candidates);
    // Today's layout with the guards may be among them.
    let is_shown = shown.iter().any(|candidate| candidate.changes.is_empty());
    let alone = guards.alone.as_ref().filter(|_| !is_shown);
    let rows: Vec<&CandidateDocument> = shown.iter().copied().chain(alone).collect();
    text.push('\n');
    table::push_layout_table(text, today, &rows);
    push_best_and_scenarios(text, today, &guards.conclusion, &[], &shown);
    let interval = guards.beside_layouts_without.as_ref();
    let change = interval.map_or(String::new(), |interval| interval_words(interval.change()));
    let compared_with = match guards.beside_checks {
        0 => "without a check".to_owned(),
        count => format!("with {}", counted(count as u64, "check")),
    };
    let sentence = format!(
        "Beside the best layout {compared_with} it changes all transfers by {change}. {GUARD_RACE_NOTE}"
    );
    let _ = writeln!(text, "{}", wrap_text(&sentence, 0));
}
