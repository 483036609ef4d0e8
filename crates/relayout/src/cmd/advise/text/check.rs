//! What a check before a store gains.

use std::fmt::Write as _;

use relayout_search::{Advice, Scored};

use super::super::TypeAdvice;
use super::super::check::Check;
use super::{table, words, wrapped};
use crate::input::Input;

/// What is to be known of a store that becomes a load and a store.
pub const RACE: &str = "The check and the store are no longer one: of two that store at the same time, one may \
                        skip its store because it saw its value before the other's came. That has to be known \
                        not to matter, as it does not where one alone stores.";

/// How often the store changed nothing, and what the layout alone, the check alone and both save.
pub fn sentences(check: &Check, plain: &Advice) -> String {
    let statement = &check.statement;
    let today = plain.current.tally.transfers();
    let then = |scored: Option<&Scored>| {
        let after = scored.map_or(today, |scored| scored.tally.transfers());
        words::change(today, after)
    };
    let less = |scored: &&Scored| scored.tally.transfers() < today;
    let function = statement.function.as_ref();
    format!(
        "The store to '{}'{} ({}) left the value as it was in {} of {} recorded cases ({:.1}%). By replay, \
         transfers go from {} with the best layout alone, from {} with a check before the store alone, and from \
         {} with both.",
        statement.member,
        function.map_or(String::new(), |name| format!(" in {name}()")),
        statement.place(),
        statement.silent,
        statement.stores,
        100.0 * statement.silent as f64 / statement.stores.max(1) as f64,
        then(plain.candidates.first().filter(less)),
        then(check.checked.alone()),
        then(check.checked.advice.candidates.first()),
    )
}

/// The sentences, and the layouts with the check where they are clearly better.
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
    if let Some(best) = advice.candidates.first() {
        text.push_str(&words::effect(
            one,
            advice,
            best,
            "found 1",
            input.line_bytes,
        ));
    }
    let beside = check.checked.beside.map(words::percent);
    let _ = writeln!(
        text,
        "{}{}",
        wrapped(&words::verdict(one, advice), 0),
        wrapped(
            &format!(
                "Beside the best layout without the check it changes all transfers by {}. {RACE}",
                beside.unwrap_or_default()
            ),
            0
        )
    );
}
