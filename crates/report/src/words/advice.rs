//! Sentences about layouts that a search found. Documents, text and mails share them.

pub(crate) mod doubts;
pub(crate) mod guards;
pub(crate) mod line_changes;
pub(crate) mod listing;
pub(crate) mod memory;
pub(crate) mod order;
pub(crate) mod places;
pub(crate) mod recommendation;
pub(crate) mod review;
pub(crate) mod simulated_gain;
pub(crate) mod verdict;

use relayout_advice::{GatheredType, GuardableStore, LayoutPool, ResolvedProfile, SearchedType};
use relayout_search::{ChangeInterval, LayoutAdvice, ScoredLayout, change};

use crate::words::percent::signed_percent;

/// A pool of layouts with its type.
#[derive(Clone, Copy)]
pub(crate) struct PoolView<'a> {
    pub resolved: &'a ResolvedProfile<'a>,
    pub gathered: &'a GatheredType<'a>,
    pub pool: LayoutPool<'a>,
}

impl<'a> PoolView<'a> {
    /// Views the layouts that the user gave for a type.
    pub(crate) fn from_given_layouts(
        resolved: &'a ResolvedProfile<'a>,
        searched: &'a SearchedType<'_>,
        advice: &'a LayoutAdvice,
    ) -> Self {
        Self {
            resolved,
            gathered: &searched.gathered,
            pool: LayoutPool {
                statements: &[],
                user_layouts: &searched.user_layouts,
                advice,
                scenarios: &[],
                crowded: None,
            },
        }
    }
}

/// Returns the name of a given layout; empty for others.
pub(crate) fn given_name(scored: &ScoredLayout) -> &str {
    scored.name.as_deref().unwrap_or_default()
}

/// Returns the guards and edits of a layout.
pub(crate) fn change_words(view: &PoolView<'_>, scored: &ScoredLayout) -> String {
    let statements = match scored.guarded {
        true => view.pool.statements,
        false => &[],
    };
    let guards = statements.iter().map(GuardableStore::guard_words);
    let mut words: Vec<String> = guards.collect();
    words.extend(change::describe_edits(
        &scored.changes,
        &view.gathered.shape,
    ));
    let calls = view.gathered.calls_to_change(scored);
    words.extend((!calls.is_empty()).then(|| {
        format!(
            "with memory aligned to {} by {}",
            scored.layout.align.max(scored.layout.run_align),
            calls.join(", ")
        )
    }));
    match words.is_empty() {
        true => "-".to_owned(),
        false => words.join(", "),
    }
}

/// Returns `3526 to 3394 (-3.7%)`.
pub(crate) fn from_to_words(before: u64, after: u64) -> String {
    match before {
        0 => format!("{before} to {after}"),
        _ => format!(
            "{before} to {after} ({})",
            signed_percent(after as f64 / before as f64 - 1.0)
        ),
    }
}

/// Returns `-3.7%, 95% interval -5.0% to -2.1%`.
pub(crate) fn interval_words(interval: ChangeInterval) -> String {
    format!(
        "{}, 95% interval {} to {}",
        signed_percent(interval.change),
        signed_percent(interval.low),
        signed_percent(interval.high)
    )
}
