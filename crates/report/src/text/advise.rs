//! Text of `advise` and `what-if`.

mod curve_text;
mod doubt_text;
mod effect_text;
mod group_text;
mod guard_text;
mod left_out_text;
mod listing_text;
mod order_text;
mod patch_text;
mod review_text;
mod scenario_text;
mod table;
mod variable_text;

use std::fmt::Write as _;
use std::path::PathBuf;

use relayout_advice::{ResolvedProfile, SearchedType};
use relayout_session::advise::{AdviceRun, PatchedType};
use serde::Serialize;

use crate::documents::advise::candidate::{CandidateDocument, LayoutDocument};
use crate::documents::advise::pool::PoolConclusionDocument;
use crate::documents::advise::simulated_curve::SimulatedCurveDocument;
use crate::documents::advise::{
    AdviseDocument, AdvisedSubjectDocument, AdvisedTypeDocument, TypeDocument, WhatIfDocument,
    WhatIfOutcomeDocument, WhatIfScoresDocument,
};
use crate::words::counted;
use crate::words::wrap::{PROSE_WIDTH, wrap_block, wrap_text};

/// Limits of replay, printed with every result. A sentence about the intervals stands between the
/// parts.
const REPLAY_LIMITS: [&str; 2] = [
    "Replay keeps the recorded order and timing (spins, failed exchanges, hold times); caches are taken as infinite, \
     without prefetch. Intervals come from resampling stretches of this recording",
    "Throughput is predicted where `relayout probe` measured what accesses cost (docs/prediction.md). The code between \
     them is taken as it was timed; where the profile has no such times, to be as long as the accesses. `relayout \
     verify` measures it.",
];
/// Limits of replay in short.
const SHORT_LIMITS: &str = "Counted by replay of the recorded order, with infinite caches and no \
                            prefetch. --all has the accesses, all candidates and the limits.";
/// Intervals of layouts that were searched.
const SEARCHED_INTERVALS: &str = "; those in the table are of layouts that were chosen on all of it, what is said of \
                                  the other half is not.";
/// Intervals of layouts that were given.
const GIVEN_INTERVALS: &str = ".";

/// Options of the text of `advise`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct AdviceTextOptions {
    /// Candidates worth showing, by rank.
    pub top: usize,
    /// True to print layouts member by member.
    pub layouts: bool,
    /// True to print all that was found out.
    pub all: bool,
    /// True if patches were requested.
    pub patches: bool,
    /// True to print the diffs.
    pub diffs: bool,
    /// File of the good patches.
    pub patch_file: Option<PathBuf>,
    /// File of the bad patches.
    pub rejected_file: Option<PathBuf>,
}

/// Appends the notes and the limits in a sentence.
fn push_short_limits(text: &mut String, notes: &[String]) {
    for note in notes {
        let _ = writeln!(text, "{}", wrap_text(note, 0));
    }
    let _ = writeln!(text, "{}", wrap_text(SHORT_LIMITS, 0));
}

/// Appends the notes and limits; `intervals` is a sentence about the intervals of the table.
fn push_limits(text: &mut String, notes: &[String], intervals: &str) {
    for note in notes {
        let _ = writeln!(text, "{}\n", wrap_text(note, 0));
    }
    let [replay, throughput] = REPLAY_LIMITS;
    text.push_str("Limits\n");
    for words in [format!("{replay}{intervals}"), throughput.to_owned()] {
        let _ = writeln!(text, "{}", wrap_block(PROSE_WIDTH, &words, 2, 0));
    }
}

/// Returns the text of `advise`. Layouts as pahole prints them are those of `run`.
pub fn advise_text(
    document: &AdviseDocument,
    resolved: &ResolvedProfile<'_>,
    run: &AdviceRun<'_>,
    options: &AdviceTextOptions,
) -> String {
    let mut text = String::new();
    for skipped in &document.skipped {
        let reason = skipped.why.as_deref().unwrap_or_default();
        let (name, transfers) = (&skipped.name, counted(skipped.transfers, "transfer"));
        let _ = writeln!(text, "Skipped: {name} ({transfers}): {reason}");
    }
    if !document.skipped.is_empty() {
        text.push('\n');
    }
    variable_text::push_variables(&mut text, &document.variables);
    if document.types.is_empty() && !document.variables.is_empty() {
        return text;
    }
    if document.types.is_empty() {
        push_no_types(&mut text, !document.skipped.is_empty());
        return text;
    }
    for (type_document, patched) in document.types.iter().zip(&run.types) {
        push_type_section(&mut text, type_document, resolved, patched, options);
        if options.patches {
            patch_text::push_patch_section(&mut text, type_document, options);
        }
    }
    let notes = limit_notes(document.recorded_time.as_deref(), &document.notes);
    match options.all {
        true => push_limits(&mut text, &notes, SEARCHED_INTERVALS),
        false => push_short_limits(&mut text, &notes),
    }
    text
}

fn push_no_types(text: &mut String, has_skipped: bool) {
    let statement = match has_skipped {
        false => "No object of a struct has transfers between contexts in this profile",
        true => "Nothing else has transfers between contexts in this profile",
    };
    let line = format!(
        "{statement}: nothing to advise on. `relayout report` shows what was resolved and what \
         was not."
    );
    let _ = writeln!(text, "{}", wrap_text(&line, 0));
}

/// Returns the text of `what-if`. Layouts as pahole prints them are those of `searched`.
pub fn what_if_text(
    document: &WhatIfDocument,
    resolved: &ResolvedProfile<'_>,
    searched: &SearchedType<'_>,
) -> String {
    let mut text = String::new();
    push_heading(&mut text, &document.subject);
    match &document.outcome {
        WhatIfOutcomeDocument::Refused { refused } => {
            let _ = writeln!(text, "Not judged: {refused}.\n");
        }
        WhatIfOutcomeDocument::Scored(scores) => {
            for given in &scores.all_given {
                if let Some(curve) = &given.predicted_curve {
                    curve_text::push_curve(&mut text, curve);
                }
            }
            listing_text::push_given_layouts(&mut text, resolved, searched);
            push_scores(&mut text, scores);
        }
    }
    let notes = limit_notes(document.recorded_time.as_deref(), &document.notes);
    push_limits(&mut text, &notes, GIVEN_INTERVALS);
    text
}

fn push_scores(text: &mut String, scores: &WhatIfScoresDocument) {
    let rows: Vec<&CandidateDocument> = scores.all_given.iter().collect();
    table::push_layout_table(text, &scores.current, &rows);
    push_given_effects(text, &scores.current, &scores.all_given);
    let _ = writeln!(text, "{}", wrap_text(&scores.memory, 2));
    effect_text::push_phases(text, &scores.by_phase);
    text.push('\n');
}

/// Returns the notes, after one about the recorded part of the time if that was not all of it.
fn limit_notes(recorded_time: Option<&str>, notes: &[String]) -> Vec<String> {
    let recorded =
        recorded_time.map(|words| format!("Recorded: {words}. All counts are of this time."));
    recorded.into_iter().chain(notes.iter().cloned()).collect()
}

fn push_given_effects(text: &mut String, today: &LayoutDocument, given: &[CandidateDocument]) {
    for layout in given {
        text.push_str(&effect_text::effect_section(
            today,
            layout,
            layout.given_name(),
        ));
        group_text::push_group_crossings(text, layout);
        text.push('\n');
    }
}

fn push_heading(text: &mut String, subject: &AdvisedSubjectDocument) {
    let _ = writeln!(
        text,
        "{}: {} in the profile, {} of them recorded in order ({} accesses).\n",
        subject.title,
        counted(subject.objects, "object"),
        subject.recorded_objects,
        subject.recorded_accesses,
    );
}

fn push_type_section(
    text: &mut String,
    type_document: &TypeDocument,
    resolved: &ResolvedProfile<'_>,
    patched: &PatchedType<'_>,
    options: &AdviceTextOptions,
) {
    let advised = match type_document {
        TypeDocument::Refused(refused) => {
            push_heading(text, &refused.subject);
            let _ = writeln!(text, "No candidates: {}.\n", refused.refused);
            return;
        }
        TypeDocument::Advised(advised) => advised,
    };
    push_heading(text, &advised.subject);
    review_text::push_review(text, advised);
    text.push('\n');
    if options.layouts {
        listing_text::push_layouts(text, resolved, patched);
    }
    if options.all {
        push_everything(text, advised);
    }
    push_simulated_layouts(text, advised);
}

/// Appends what the recommended layout brings in simulated time, or the layouts of the user; with neither, all that were
/// executed.
fn push_simulated_layouts(text: &mut String, advised: &AdvisedTypeDocument) {
    let given = || { advised.given.iter() }.filter_map(|layout| layout.predicted_curve.as_ref());
    let recommended =
        { advised.recommended_layout() }.and_then(|layout| layout.predicted_curve.as_ref());
    let candidates =
        { advised.candidates.iter() }.filter_map(|layout| layout.predicted_curve.as_ref());
    let shown: Vec<&SimulatedCurveDocument> = match recommended {
        Some(recommended) => given().chain([recommended]).collect(),
        None => given().chain(candidates).collect(),
    };
    for change in shown {
        curve_text::push_curve(text, change);
    }
}

/// Appends accesses, all candidates with their effects, and what was left out.
fn push_everything(text: &mut String, advised: &AdvisedTypeDocument) {
    let today = &advised.current;
    effect_text::push_member_accesses(text, &advised.evidence);
    let shown = shown_candidates(&advised.candidates);
    let rows: Vec<&CandidateDocument> = advised.given.iter().chain(shown.iter().copied()).collect();
    table::push_layout_table(text, today, &rows);
    push_given_effects(text, today, &advised.given);
    push_best_and_scenarios(text, today, &advised.conclusion, &advised.given, &shown);
    if let Some(best) = shown.first() {
        doubt_text::push_doubts(text, best);
    }
    let _ = writeln!(text, "{}", wrap_text(&advised.memory, 2));
    effect_text::push_phases(text, &advised.by_phase);
    left_out_text::push_left_out(text, advised);
    if let Some(guards) = &advised.check {
        guard_text::push_guard_section(text, today, guards);
    }
    text.push('\n');
}

/// Returns the candidates worth showing, without one that only the patch makes.
fn shown_candidates(candidates: &[CandidateDocument]) -> Vec<&CandidateDocument> {
    let is_shown = |candidate: &&CandidateDocument| candidate.number.is_some();
    candidates.iter().filter(is_shown).collect()
}

/// Appends the effects of the best layout in a pool, here and in other scenarios.
fn push_best_and_scenarios(
    text: &mut String,
    today: &LayoutDocument,
    conclusion: &PoolConclusionDocument,
    given: &[CandidateDocument],
    shown: &[&CandidateDocument],
) {
    if let Some(best) = shown.first().filter(|_| conclusion.has_fewer) {
        let effect = effect_text::effect_section(today, best, "found 1");
        let _ = writeln!(text, "{effect}");
    }
    for sentence in conclusion.sentences.iter().chain(&conclusion.inner_types) {
        let _ = writeln!(text, "{}", wrap_text(sentence, 0));
    }
    let given = given
        .iter()
        .map(|given| (given.given_name().to_owned(), given));
    let found = { (1..).zip(shown) }.map(|(number, found)| (format!("found {number}"), *found));
    let layouts: Vec<(String, &CandidateDocument)> = given.chain(found).collect();
    scenario_text::push_scenarios(text, &conclusion.scenarios, &layouts);
}
