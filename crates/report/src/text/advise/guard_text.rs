//! Text of guarded stores.

use std::fmt::Write as _;

use relayout_advice::AdvisedType;
use relayout_search::RankedLayout;

use crate::text::advise::table;
use crate::words::advice::guards::{GUARD_RACE_NOTE, guard_sentences};
use crate::words::advice::{PoolView, interval_words};
use crate::words::counted;
use crate::words::wrap::wrap_text;

/// Appends the sentences, and the layouts with guards where they are clearly better.
pub(crate) fn push_guard_section(
    text: &mut String,
    view: &PoolView<'_>,
    advised: &AdvisedType<'_>,
    top: usize,
) {
    let Some(guards) = &advised.guards else {
        return;
    };
    let sentences = guard_sentences(guards, view.pool.advice);
    let _ = writeln!(text, "\n{}", wrap_text(&sentences, 0));
    let Some(pool) = advised.better_guarded_pool() else {
        text.push_str("The check is not clearly better than layouts without it.\n");
        return;
    };
    let guarded = PoolView { pool, ..*view };
    let advice = pool.advice;
    let shown = advice.shown_candidates(top);
    let mut rows: Vec<&RankedLayout> = { shown.iter() }
        .map(|index| &advice.candidates[*index])
        .collect();
    let guards_alone = guards.guarded.guards_alone();
    let is_shown = |alone: &RankedLayout| rows.iter().any(|row| std::ptr::eq(*row, alone));
    rows.extend(guards_alone.filter(|alone| !is_shown(alone)));
    text.push('\n');
    table::push_layout_table(text, &guarded, &advice.current, &rows);
    crate::text::advise::push_best_and_scenarios(text, &guarded, top);
    let interval = guards.guarded.gain_over_fewer;
    let change = interval.map(interval_words).unwrap_or_default();
    let compared_with = match guards.fewer_guards {
        0 => "without a check".to_owned(),
        count => format!("with {}", counted(count as u64, "check")),
    };
    let sentence = format!(
        "Beside the best layout {compared_with} it changes all transfers by {change}. {GUARD_RACE_NOTE}"
    );
    let _ = writeln!(text, "{}", wrap_text(&sentence, 0));
}
