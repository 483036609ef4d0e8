//! Text of guarded stores.

use std::fmt::Write as _;

use relayout_advice::{AdvisedType, GuardAdvice, StoreCounts};
use relayout_search::{LayoutAdvice, RankedLayout};

use crate::text::advise::{PoolView, search_words, table};
use crate::words::counted;
use crate::words::percent::percent;
use crate::words::wrap::wrap_text;

/// Condition under which a guard may stand before a store.
pub(crate) const GUARD_RACE_NOTE: &str = "A check and its store are no longer one: of two that store at the same time, one may skip its \
     store because it saw its value before the other's came. That has to be known not to matter, as it \
     does not where one alone stores.";

/// Returns the share of silent stores, and the transfers with the layout alone, the guards alone
/// and both.
pub(crate) fn guard_sentences(guards: &GuardAdvice, unguarded: &LayoutAdvice) -> String {
    let today = unguarded.current.tally.transfers();
    let transfers_then = |scored: Option<&RankedLayout>| {
        let after = scored.map_or(today, |scored| scored.tally.transfers());
        search_words::from_to_words(today, after)
    };
    let is_less = |scored: &&RankedLayout| scored.tally.transfers() < today;
    let mut text = String::new();
    for statement in &guards.statements {
        let StoreCounts { all, silent } = statement.store_counts;
        let function = statement.function.as_ref();
        let _ = write!(
            text,
            "The store to '{}'{} ({}) left the value as it was in {silent} of {all} recorded cases ({}). ",
            statement.member,
            function.map_or(String::new(), |name| format!(" in {name}()")),
            statement.source_position(),
            percent(silent as f64 / all.max(1) as f64),
        );
    }
    let _ = write!(
        text,
        "By replay, transfers go from {} with the best layout alone, from {} with {} alone, and from {} with both.",
        transfers_then(unguarded.candidates.first().filter(is_less)),
        transfers_then(guards.guarded.guards_alone()),
        match guards.statements.len() {
            1 => "a check before the store".to_owned(),
            count => format!("checks before the {count} stores"),
        },
        transfers_then(guards.guarded.advice.candidates.first()),
    );
    text
}

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
    let change = interval
        .map(search_words::interval_words)
        .unwrap_or_default();
    let compared_with = match guards.fewer_guards {
        0 => "without a check".to_owned(),
        count => format!("with {}", counted(count as u64, "check")),
    };
    let sentence = format!(
        "Beside the best layout {compared_with} it changes all transfers by {change}. {GUARD_RACE_NOTE}"
    );
    let _ = writeln!(text, "{}", wrap_text(&sentence, 0));
}
