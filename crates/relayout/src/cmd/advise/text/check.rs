//! What a check before a store gains.

use std::fmt::Write as _;

use relayout_search::{LayoutAdvice, RankedLayout};

use super::super::TypeAdvice;
use super::super::check::{GuardAdvice, StoreCounts};
use super::{table, words, wrap_text};
use crate::resolved::ResolvedProfile;

/// What is to be known of a store that becomes a load and a store.
pub const GUARD_RACE_NOTE: &str = "A check and its store are no longer one: of two that store at the same time, one may \
                        skip its store because it saw its value before the other's came. That has to be known \
                        not to matter, as it does not where one alone stores.";

/// How often the stores changed nothing, and what the layout alone, the checks alone and both save.
pub fn guard_sentences(guard_advice: &GuardAdvice, unguarded: &LayoutAdvice) -> String {
    let today = unguarded.current.tally.transfers();
    let transfers_then = |scored: Option<&RankedLayout>| {
        let after = scored.map_or(today, |scored| scored.tally.transfers());
        words::from_to_words(today, after)
    };
    let is_less = |scored: &&RankedLayout| scored.tally.transfers() < today;
    let mut text = String::new();
    for statement in &guard_advice.statements {
        let StoreCounts { all, silent } = statement.store_counts;
        let function = statement.function.as_ref();
        let _ = write!(
            text,
            "The store to '{}'{} ({}) left the value as it was in {silent} of {all} recorded cases ({:.1}%). ",
            statement.member,
            function.map_or(String::new(), |name| format!(" in {name}()")),
            statement.source_position(),
            100.0 * silent as f64 / all.max(1) as f64,
        );
    }
    let _ = write!(
        text,
        "By replay, transfers go from {} with the best layout alone, from {} with {} alone, and from {} with both.",
        transfers_then(unguarded.candidates.first().filter(is_less)),
        transfers_then(guard_advice.guarded.guards_alone()),
        match guard_advice.statements.len() {
            1 => "a check before the store".to_owned(),
            count => format!("checks before the {count} stores"),
        },
        transfers_then(guard_advice.guarded.advice.candidates.first()),
    );
    text
}

/// The sentences, and the layouts with the checks where they are clearly better.
pub fn push_guard_section(
    text: &mut String,
    input: &ResolvedProfile<'_>,
    type_advice: &TypeAdvice<'_>,
    unguarded: &LayoutAdvice,
    top: usize,
) {
    let Some(guard_advice) = &type_advice.guard_advice else {
        return;
    };
    let _ = writeln!(
        text,
        "\n{}",
        wrap_text(&guard_sentences(guard_advice, unguarded), 0)
    );
    if !guard_advice.guarded.is_better() {
        text.push_str("The check is not clearly better than layouts without it.\n");
        return;
    }
    let advice = &guard_advice.guarded.advice;
    let shown = advice.shown_candidates(top);
    let mut rows: Vec<&RankedLayout> = { shown.iter() }
        .map(|index| &advice.candidates[*index])
        .collect();
    let guards_alone = guard_advice.guarded.guards_alone();
    let is_shown = |alone: &RankedLayout| rows.iter().any(|row| std::ptr::eq(*row, alone));
    rows.extend(guards_alone.filter(|alone| !is_shown(alone)));
    text.push('\n');
    table::push_layout_table(text, type_advice, &advice.current, &rows);
    super::push_best_and_scenarios(text, input, type_advice, guard_advice.candidate_pool(), top);
    let beside_unguarded = guard_advice
        .guarded
        .gain_over_fewer
        .map(words::interval_words);
    let compared_with = match guard_advice.fewer_guards {
        0 => "without a check".to_owned(),
        count => format!("with {}", super::counted(count as u64, "check")),
    };
    let _ = writeln!(
        text,
        "{}",
        wrap_text(
            &format!(
                "Beside the best layout {compared_with} it changes all transfers by {}. {GUARD_RACE_NOTE}",
                beside_unguarded.unwrap_or_default()
            ),
            0
        )
    );
}
