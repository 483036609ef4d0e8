//! The questions that a reviewer of a layout patch asks, with their answers, on one screen.

use std::fmt::Write as _;

use crate::documents::advise::AdvisedTypeDocument;
use crate::documents::advise::candidate::CandidateDocument;
use crate::documents::advise::pool::ReviewDocument;
use crate::text::advise::shown_candidates;
use crate::words::wrap::wrap_text;

/// Columns of the screen.
const COLUMNS: usize = 80;
/// Candidates in the short list.
const CANDIDATES_MAX: usize = 5;

/// Appends the answers to a reviewer's questions about the recommended layout of a type, or about
/// the one that became the patch.
pub(crate) fn push_review(text: &mut String, advised: &AdvisedTypeDocument) {
    let Some(review) = &advised.review else {
        push_line(text, &nothing_recommended(advised), 0);
        push_candidates(text, &advised.candidates, None);
        return;
    };
    push_line(text, &review.title, 2);
    text.push('\n');
    for (number, answer) in (1..).zip(&review.answers) {
        let question = format!("{number}. {}", answer.question);
        push_line(text, &format!("{question:<19} {}", answer.answer), 20);
    }
    push_candidates(text, reviewed_candidates(advised, review), review.number);
}

/// Returns the candidates of which the reviewed layout is one.
fn reviewed_candidates<'a>(
    advised: &'a AdvisedTypeDocument,
    review: &ReviewDocument,
) -> &'a [CandidateDocument] {
    match (&advised.check, review.guarded) {
        (Some(guards), true) => &guards.candidates,
        _ => &advised.candidates,
    }
}

fn push_line(text: &mut String, line: &str, indent: usize) {
    let _ = writeln!(text, "{}", wrap_text(line, indent));
}

fn nothing_recommended(advised: &AdvisedTypeDocument) -> String {
    let conclusion = &advised.conclusion;
    let mut sentences = match conclusion.sentences.is_empty() {
        true => format!("Nothing is recommended. {}", advised.recommended_why),
        false => format!(
            "Nothing is recommended. {}",
            conclusion.sentences.join("\n")
        ),
    };
    let limited =
        { advised.without_limits.iter() }.filter(|limited| !sentences.contains(limited.as_str()));
    let further: Vec<&String> = conclusion.inner_types.iter().chain(limited).collect();
    for sentence in further {
        sentences.push(' ');
        sentences.push_str(sentence);
    }
    sentences
}

/// Appends the best candidates, a line each. `marked` is the number of the one that the text is about.
fn push_candidates(text: &mut String, candidates: &[CandidateDocument], marked: Option<usize>) {
    let shown = shown_candidates(candidates);
    if shown.is_empty() {
        return;
    }
    let is_simulated = shown.iter().any(|candidate| candidate.simulated.is_some());
    let brings = if is_simulated { "  brings" } else { "" };
    let _ = writeln!(
        text,
        "\n  Candidates    saves{brings}  members  aligned  growth  edit (--pick N)"
    );
    for (number, candidate) in listed_candidates(&shown, marked) {
        let mark = if marked == Some(number) { '>' } else { ' ' };
        // Not negated, because that makes -0.0 of 0.0.
        let saved = 0.0 - candidate.change_percent.value;
        let brings = match is_simulated {
            true => format!("  {:>6}", brought(candidate)),
            false => String::new(),
        };
        let row = format!(
            "{mark} found {number:<5} {saved:>7.1}%{brings}  {:>7}  {:>7}  {:>6}  ",
            candidate.edits.members, candidate.edits.attributes, candidate.edits.grown_bytes
        );
        let words = shorten(&candidate.edit, COLUMNS - row.len());
        let _ = writeln!(text, "{row}{words}");
    }
    let listed = listed_candidates(&shown, marked);
    let refused = { listed.iter() }
        .find_map(|(number, candidate)| Some((number, candidate.not_simulated.as_ref()?)));
    if let Some((number, reason)) = refused {
        push_line(
            text,
            &format!("  found {number} was not executed: {reason}."),
            2,
        );
    }
    let more = shown.len().saturating_sub(CANDIDATES_MAX);
    if more > 0 {
        let _ = writeln!(
            text,
            "  and {more} more with --all; --layouts prints the members."
        );
    }
}

/// Returns the operations over today's with the most CPUs, in simulated time: `1.29`, or `1.05?` if that is unclear.
fn brought(candidate: &CandidateDocument) -> String {
    let simulated = candidate.simulated.as_ref();
    let ratio = simulated.and_then(|simulated| Some((simulated, simulated.ratio?)));
    ratio.map_or_else(
        || "-".to_owned(),
        |(simulated, ratio)| {
            let mark = if simulated.verdict == "unclear" {
                "?"
            } else {
                ""
            };
            format!("{ratio:.2}{mark}")
        },
    )
}

/// Returns the candidates of the short list with their numbers: the one with the most gain, the marked
/// one, and those with the most gain of the rest.
fn listed_candidates<'a>(
    shown: &[&'a CandidateDocument],
    marked: Option<usize>,
) -> Vec<(usize, &'a CandidateDocument)> {
    let mut listed: Vec<(usize, &CandidateDocument)> = (1..).zip(shown.iter().copied()).collect();
    listed.sort_by_key(|(number, candidate)| {
        (
            marked != Some(*number),
            *number > 1,
            !candidate.pareto,
            *number,
        )
    });
    listed.truncate(CANDIDATES_MAX);
    listed.sort_unstable_by_key(|(number, _)| *number);
    listed
}

fn shorten(words: &str, width: usize) -> String {
    if words.chars().count() <= width {
        return words.to_owned();
    }
    let kept: String = words.chars().take(width.saturating_sub(3)).collect();
    format!("{}...", kept.trim_end())
}
