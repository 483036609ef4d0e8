//! The questions that a reviewer of a layout patch asks, with their answers, on one screen.

use std::fmt::Write as _;

use relayout_advice::PoolLayout;
use relayout_search::EditSize;
use relayout_session::advise::PatchedType;

use crate::words::advice::recommendation::{limited_sentence, recommendation_reason};
use crate::words::advice::review::{LayoutReview, reviewed_layout};
use crate::words::advice::verdict::{inner_types_sentence, verdict_sentences};
use crate::words::advice::{PoolView, change_words};
use crate::words::wrap::wrap_text;

/// Columns of the screen.
const COLUMNS: usize = 100;
/// Candidates in the short list.
const CANDIDATES_MAX: usize = 5;

/// Appends the answers to a reviewer's questions about the recommended layout of a type, or about
/// the one that became the patch.
pub(crate) fn push_review(
    text: &mut String,
    view: &PoolView<'_>,
    patched: &PatchedType<'_>,
    top: usize,
) {
    let Some(reviewed) = reviewed_layout(view, patched) else {
        push_line(text, &nothing_recommended(view, patched), 0);
        push_candidates(text, view, None, top);
        return;
    };
    let review = LayoutReview::of_layout(&reviewed, patched, top);
    push_line(text, &review.title, 2);
    text.push('\n');
    for (number, answer) in (1..).zip(review.answers) {
        let question = format!("{number}. {}", answer.question);
        push_line(text, &format!("{question:<19} {}", answer.answer), 20);
    }
    push_candidates(text, &reviewed.view, Some(reviewed.layout), top);
}

fn push_line(text: &mut String, line: &str, indent: usize) {
    let _ = writeln!(text, "{}", wrap_text(line, indent));
}

fn nothing_recommended(view: &PoolView<'_>, patched: &PatchedType<'_>) -> String {
    let reason = recommendation_reason(patched, None);
    let verdict = verdict_sentences(view);
    let mut sentences = match verdict.trim_end() {
        "" => format!("Nothing is recommended. {reason}"),
        verdict => format!("Nothing is recommended. {verdict}"),
    };
    let limited = limited_sentence(patched).filter(|limited| !sentences.contains(limited));
    for sentence in inner_types_sentence(view).into_iter().chain(limited) {
        sentences.push(' ');
        sentences.push_str(&sentence);
    }
    sentences
}

/// Appends the best candidates, a line each.
fn push_candidates(text: &mut String, view: &PoolView<'_>, marked: Option<PoolLayout>, top: usize) {
    let advice = view.pool.advice;
    let shown = advice.shown_candidates(top);
    if shown.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\n  Candidates    saves  members  aligned  growth  edit (--pick N)"
    );
    for number in listed_numbers(view, &shown, marked) {
        let index = shown[number];
        let candidate = &advice.candidates[index];
        let edit = EditSize::new(advice, candidate);
        let mark = if marked == Some(PoolLayout::Candidate(index)) {
            '>'
        } else {
            ' '
        };
        let change = match advice.current.cost {
            0 => 0.0,
            cost => (1.0 - candidate.cost as f64 / cost as f64) * 100.0,
        };
        let row = format!(
            "{mark} found {:<5} {change:>7.1}%  {:>7}  {:>7}  {:>6}  ",
            number + 1,
            edit.members,
            edit.attributes,
            edit.grown_bytes
        );
        let words = change_words(view, candidate);
        let _ = writeln!(text, "{row}{}", shorten(&words, COLUMNS - row.len()));
    }
    let more = shown.len().saturating_sub(CANDIDATES_MAX);
    if more > 0 {
        let _ = writeln!(
            text,
            "  and {more} more with --all; --layouts prints the members."
        );
    }
}

/// Returns the places in `shown` of the candidates that the short list names: the one with the most
/// gain, the marked one, and those with the most gain of the rest.
fn listed_numbers(view: &PoolView<'_>, shown: &[usize], marked: Option<PoolLayout>) -> Vec<usize> {
    let is_marked = |number: &usize| marked == Some(PoolLayout::Candidate(shown[*number]));
    let mut numbers: Vec<usize> = (0..shown.len()).collect();
    numbers.sort_by_key(|number| {
        let candidate = &view.pool.advice.candidates[shown[*number]];
        (!is_marked(number), *number > 0, !candidate.pareto, *number)
    });
    numbers.truncate(CANDIDATES_MAX);
    numbers.sort_unstable();
    numbers
}

fn shorten(words: &str, width: usize) -> String {
    if words.chars().count() <= width {
        return words.to_owned();
    }
    let kept: String = words.chars().take(width.saturating_sub(3)).collect();
    format!("{}...", kept.trim_end())
}
