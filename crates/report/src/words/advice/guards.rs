//! Sentences about guarded stores.

use std::fmt::Write as _;

use relayout_advice::{GuardAdvice, GuardableStore, OtherScenario, StoreCounts};
use relayout_search::{LayoutAdvice, RankedLayout};

use crate::words::advice::from_to_words;
use crate::words::percent::percent;

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
        from_to_words(today, after)
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

/// Returns the stores of the guarded statements in another recording, with a `; ` before each.
pub(crate) fn seen_store_words(
    scenario: &OtherScenario,
    guarded_statements: &[GuardableStore],
) -> String {
    let store_words = |(statement, stores): (&GuardableStore, &StoreCounts)| {
        let store = format!(
            "the store to '{}' ({})",
            statement.member,
            statement.source_position()
        );
        let StoreCounts { all, silent } = stores;
        match all {
            0 => format!("; {store} was not seen there: the layouts count without its check"),
            _ => format!("; {store} left the value as it was in {silent} of {all} cases"),
        }
    };
    guarded_statements
        .iter()
        .zip(&scenario.store_counts)
        .map(store_words)
        .collect()
}
