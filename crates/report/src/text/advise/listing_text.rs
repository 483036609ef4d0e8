//! Layouts as pahole prints them.

use std::fmt::Write as _;

use relayout_advice::{ResolvedProfile, SearchedType};
use relayout_search::ScoredLayout;
use relayout_session::advise::PatchedType;

use crate::words::advice::listing::pahole_listing;
use crate::words::advice::verdict::best_found;
use crate::words::advice::{PoolView, change_words, given_name};

/// Appends today's layout, the recommended one and the best found.
pub(crate) fn push_layouts(
    text: &mut String,
    resolved: &ResolvedProfile<'_>,
    patched: &PatchedType<'_>,
) {
    let Some(pool) = patched.advised.unguarded_pool() else {
        return;
    };
    let view = &PoolView {
        resolved,
        gathered: &patched.advised.searched.gathered,
        pool,
    };
    let advice = pool.advice;
    push_layout(text, view, &advice.current, "Today's layout");
    let recommended = patched.recommended().map(|found| found.index);
    if let Some(index) = recommended {
        let candidate = &advice.candidates[index];
        let title = format!("Recommended: {}", change_words(view, candidate));
        push_layout(text, view, candidate, &title);
    }
    if let Some(best) = best_found(advice).filter(|_| recommended != Some(0)) {
        let title = format!("Best found by replay: {}", change_words(view, best));
        push_layout(text, view, best, &title);
    }
}

/// Appends the layouts that the user gave.
pub(crate) fn push_given_layouts(
    text: &mut String,
    resolved: &ResolvedProfile<'_>,
    searched: &SearchedType<'_>,
) {
    let Ok(advice) = &searched.outcome else {
        return;
    };
    let view = PoolView::from_given_layouts(resolved, searched, advice);
    for given in &advice.user_layouts {
        push_layout(text, &view, given, given_name(given));
    }
}

fn push_layout(text: &mut String, view: &PoolView<'_>, scored: &ScoredLayout, title: &str) {
    let _ = writeln!(text, "{title}\n{}", pahole_listing(view, scored));
}
