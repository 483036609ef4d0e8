//! What a check before a store gains.

use std::fmt::Write as _;

use relayout_search::{Advice, Scored};

use super::super::TypeAdvice;
use super::super::check::{Check, Stores};
use super::{table, words, wrapped};
use crate::input::Input;

/// What is to be known of a store that becomes a load and a store.
pub const RACE: &str = "A check and its store are no longer one: of two that store at the same time, one may \
                        skip its store because it saw its value before the other's came. That has to be known \
                        not to matter, as it does not where one alone stores.";

/// How often the stores changed nothing, and what the layout alone, the checks alone and both save.
pub fn sentences(check: &Check, plain: &Advice) -> String {
    let today = plain.current.tally.transfers();
    let then = |scored: Option<&Scored>| {
        let after = scored.map_or(today, |scored| scored.tally.transfers());
        words::change(today, after)
    };
    let less = |scored: &&Scored| scored.tally.transfers() < today;
    let mut text = String::new();
    for statement in &check.statements {
        let Stores { all, silent } = statement.recorded;
        let function = statement.function.as_ref();
        let _ = write!(
            text,
            "The store to '{}'{} ({}) left the value as it was in {silent} of {all} recorded cases ({:.1}%). ",
            statement.member,
            function.map_or(String::new(), |name| format!(" in {name}()")),
            statement.place(),
            100.0 * silent as f64 / all.max(1) as f64,
        );
    }
    let _ = write!(
        text,
        "By replay, transfers go from {} with the best layout alone, from {} with {} alone, and from {} with both.",
        then(plain.candidates.first().filter(less)),
        then(check.checked.alone()),
        match check.statements.len() {
            1 => "a check before the store".to_owned(),
            count => format!("checks before the {count} stores"),
        },
        then(check.checked.advice.candidates.first()),
    );
    text
}

/// The sentences, and the layouts with the checks where they are clearly better.
pub fn section(
    text: &mut String,
    input: &Input<'_>,
    one: &TypeAdvice<'_>,
    plain: &Advice,
    top: usize,
) {
    let Some(check) = &one.check else { return };
    let _ = writeln!(text, "\n{}", wrapped(&sentences(check, plain), 0));
    if !check.checked.is_better() {
        text.push_str("The check is not clearly better than layouts without it.\n");
        return;
    }
    let advice = &check.checked.advice;
    let shown = advice.shown(top);
    let mut rows = vec![&advice.current];
    rows.extend(shown.iter().map(|index| &advice.candidates[*index]));
    let alone = check.checked.alone();
    let is_shown = |alone: &Scored| rows.iter().any(|row| std::ptr::eq(*row, alone));
    rows.extend(alone.filter(|alone| !is_shown(alone)));
    text.push('\n');
    table::table(text, one, &rows);
    super::best_and_others(text, input, one, check.pool(), top);
    let beside = check.checked.beside.map(words::percent);
    let fewer = match check.fewer {
        0 => "without a check".to_owned(),
        count => format!("with {}", super::counted(count as u64, "check")),
    };
    let _ = writeln!(
        text,
        "{}",
        wrapped(
            &format!(
                "Beside the best layout {fewer} it changes all transfers by {}. {RACE}",
                beside.unwrap_or_default()
            ),
            0
        )
    );
}
