//! Answers to the questions that a reviewer of a layout patch asks.

mod answers;

use relayout_advice::{LayoutPool, PoolLayout, element_instructions};
use relayout_search::{RankedLayout, Recommendation};
use relayout_session::advise::{PatchOutcome, PatchedType};

use crate::words::advice::{PoolView, change_words};
use answers::{
    comment_answer, configuration_answer, gain_answer, memory_answer, order_answer, reason_answer,
    saving_answer, workload_answer,
};

/// Layout that the answers are about.
struct ReviewedLayout<'a> {
    pub view: PoolView<'a>,
    pub layout: PoolLayout,
    pub ranked: &'a RankedLayout,
    pub recommendation: Option<Recommendation>,
}

/// A question of a reviewer.
pub(crate) struct ReviewAnswer {
    /// What it is about: `Saves`, `Memory`.
    pub question: &'static str,
    /// Sentences.
    pub answer: String,
}

/// Answers about a layout.
pub(crate) struct LayoutReview {
    /// The layout: `Recommended (found 1): move 'a' to after 'b'.`
    pub title: String,
    /// Number of the candidate, which `--pick` takes; `None` for other layouts.
    pub number: Option<usize>,
    /// True if it is one of the layouts with guarded stores.
    pub is_guarded: bool,
    /// The answers, in the order of the questions.
    pub answers: Vec<ReviewAnswer>,
}

impl LayoutReview {
    /// Answers about the recommended layout of a type, or about the one that became the patch; `None` if nothing is
    /// recommended.
    pub fn new(view: &PoolView<'_>, patched: &PatchedType<'_>, top: usize) -> Option<Self> {
        let reviewed = &reviewed_layout(view, patched)?;
        Some(Self {
            title: review_title(patched, reviewed, top),
            number: layout_number(reviewed, top),
            is_guarded: !reviewed.view.pool.statements.is_empty(),
            answers: layout_answers(reviewed, patched, top),
        })
    }
}

/// Returns words with a capital at the beginning and a period at the end.
fn sentence_of(words: &str) -> String {
    let mut characters = words.chars();
    let first =
        { characters.next() }.map_or(String::new(), |first| first.to_uppercase().to_string());
    format!("{first}{}.", characters.as_str())
}

fn layout_answers(
    reviewed: &ReviewedLayout<'_>,
    patched: &PatchedType<'_>,
    top: usize,
) -> Vec<ReviewAnswer> {
    let doubts = patched.advised.doubts_about(reviewed.ranked);
    let instructions = element_instructions(reviewed.view.gathered, reviewed.ranked);
    let gain = gain_answer(patched, reviewed).map(|gain| ("Brings", gain));
    let mut answers = Vec::from_iter(gain);
    answers.extend([
        ("Saves", saving_answer(patched, reviewed, &doubts)),
        ("Memory", memory_answer(reviewed)),
        ("Other workloads", workload_answer(reviewed, top)),
        (
            "Configurations",
            configuration_answer(reviewed, patched, top),
        ),
        ("Why this edit", reason_answer(patched, reviewed)),
        ("Comment", comment_answer(patched)),
        ("Order", order_answer(reviewed)),
    ]);
    answers.extend(instructions.map(|words| ("What to write", sentence_of(&words))));
    { answers.into_iter() }
        .map(|(question, answer)| ReviewAnswer { question, answer })
        .collect()
}

/// Returns what the answers are about: `Recommended (found 1): move 'a' to after 'b'.`
fn review_title(patched: &PatchedType<'_>, reviewed: &ReviewedLayout<'_>, top: usize) -> String {
    let name = layout_name(reviewed, top);
    let changes = change_words(&reviewed.view, reviewed.ranked);
    if let Some(reason) = instead_reason(patched) {
        let transfers = instead_transfers(patched, reviewed.ranked);
        return format!(
            "Instead of the recommended one ({name}): {changes}, with {transfers}. The recommended one \
             is not written: {reason}."
        );
    }
    match reviewed.recommendation {
        Some(_) => format!("Recommended ({name}): {changes}."),
        None => format!("Chosen ({name}): {changes}."),
    }
}

/// Returns the reason why another layout than the recommended one became the patch.
fn instead_reason<'a>(patched: &'a PatchedType<'_>) -> Option<&'a str> {
    match &patched.patch {
        Some(PatchOutcome::Diff(written)) => written.instead_reason.as_deref(),
        _ => None,
    }
}

/// Returns the transfers of a layout that took the place of the recommended one, in words.
pub(crate) fn instead_transfers(patched: &PatchedType<'_>, written: &RankedLayout) -> String {
    let transfers = written.tally.transfers();
    let recommended = patched.advised.most_recommended();
    match recommended.map(|(pool, found)| advice_transfers(pool, found.index)) {
        Some(most) if most != transfers => format!("{transfers} transfers instead of {most}"),
        _ => format!("as many transfers: {transfers}"),
    }
}

fn advice_transfers(pool: LayoutPool<'_>, index: usize) -> u64 {
    pool.advice.candidates[index].tally.transfers()
}

/// Returns the layout of the patch, else the recommended one.
fn reviewed_layout<'a>(
    view: &PoolView<'a>,
    patched: &'a PatchedType<'_>,
) -> Option<ReviewedLayout<'a>> {
    let advised = &patched.advised;
    if let Some(PatchOutcome::Diff(written)) = &patched.patch {
        let edited = &written.edited;
        let pool = edited.pool(advised)?;
        let recommended = pool.recommendations(patched.advised.limits);
        let is_written =
            |found: &Recommendation| PoolLayout::Candidate(found.index) == edited.layout;
        return Some(ReviewedLayout {
            view: PoolView { pool, ..*view },
            layout: edited.layout,
            ranked: edited.candidate(advised)?,
            recommendation: recommended.into_iter().find(is_written),
        });
    }
    let (pool, recommendation) = patched.recommended_with_guards()?;
    let layout = PoolLayout::Candidate(recommendation.index);
    Some(ReviewedLayout {
        view: PoolView { pool, ..*view },
        layout,
        ranked: layout.ranked(pool)?,
        recommendation: Some(recommendation),
    })
}

/// Returns `found 3`, the number that `--pick` takes, or the name of a given layout.
fn layout_name(reviewed: &ReviewedLayout<'_>, top: usize) -> String {
    match (reviewed.layout, layout_number(reviewed, top)) {
        (PoolLayout::Given(_), _) => reviewed.ranked.name.clone().unwrap_or_default(),
        (PoolLayout::Candidate(_), Some(number)) => format!("found {number}"),
        (PoolLayout::Candidate(_), None) => "as good as the best of its size".to_owned(),
    }
}

fn layout_number(reviewed: &ReviewedLayout<'_>, top: usize) -> Option<usize> {
    let PoolLayout::Candidate(index) = reviewed.layout else {
        return None;
    };
    let mut shown = reviewed.view.pool.advice.shown_candidates(top).into_iter();
    let place = shown.position(|other| other == index)?;
    Some(place + 1)
}
