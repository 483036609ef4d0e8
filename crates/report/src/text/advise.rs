//! Text of `advise` and `what-if`.

mod curve_text;
mod doubt_text;
mod group_text;
mod guard_text;
mod order_text;
mod review_text;
mod scenario_text;
mod search_words;
mod table;
mod variable_text;

use std::fmt::Write as _;
use std::path::PathBuf;

use relayout_advice::{AdvisedType, GatheredType, LayoutPool, ResolvedProfile, SearchedType};
use relayout_search::{RankedLayout, ScoredLayout};
use relayout_session::advise::{AdviceRun, CompileTest, PatchOutcome, PatchedType, WrittenPatch};
use serde::Serialize;

use crate::words::advice::listing::pahole_listing;
use crate::words::advice::memory::memory_sentences;
use crate::words::advice::review::instead_transfers;
use crate::words::advice::verdict::{best_found, inner_types_sentence, verdict_sentences};
use crate::words::advice::{PoolView, change_words, given_name};
use crate::words::wrap::wrap_text;
use crate::words::{counted, recorded_time_words};

/// Limits of replay, printed with every result. A sentence about the intervals stands between the
/// parts.
const REPLAY_LIMITS: [&str; 2] = [
    "\
Limits
  Replay keeps the recorded order and timing (spins, failed exchanges, hold times); caches are taken
  as infinite, without prefetch. Intervals come from resampling stretches of this recording",
    "  Throughput is predicted where `relayout probe` measured what accesses cost (docs/prediction.md). The
  code between them is taken as it was timed; where the profile has no such times, to be as long as
  the accesses. `relayout verify` measures it.
",
];
/// Limits of replay in short.
const SHORT_LIMITS: &str = "Counted by replay of the recorded order, with infinite caches and no \
                            prefetch. --all has the accesses, all candidates and the limits.";
/// Intervals of layouts that were searched.
const SEARCHED_INTERVALS: &str = "; those in
  the table are of layouts that were chosen on all of it, what is said of the other half is not.
";
/// Intervals of layouts that were given.
const GIVEN_INTERVALS: &str = ".\n";

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

/// Returns the text of `advise`.
pub fn advise_text(
    resolved: &ResolvedProfile<'_>,
    run: &AdviceRun<'_>,
    options: &AdviceTextOptions,
) -> String {
    let mut text = String::new();
    for contended in &run.skipped {
        let reason = contended.skip_reason.as_deref().unwrap_or_default();
        let (name, transfers) = (&contended.name, counted(contended.transfers, "transfer"));
        let _ = writeln!(text, "Skipped: {name} ({transfers}): {reason}");
    }
    if !run.skipped.is_empty() {
        text.push('\n');
    }
    variable_text::push_variables(&mut text, &resolved.profile.meta, &run.variables);
    if run.types.is_empty() && !run.variables.is_empty() {
        return text;
    }
    if run.types.is_empty() {
        let statement = match run.skipped.is_empty() {
            true => "No object of a struct has transfers between contexts in this profile",
            false => "Nothing else has transfers between contexts in this profile",
        };
        let line = format!(
            "{statement}: nothing to advise on. `relayout report` shows what was resolved and what \
             was not."
        );
        let _ = writeln!(text, "{}", wrap_text(&line, 0));
        return text;
    }
    for patched in &run.types {
        push_type_section(&mut text, resolved, patched, options);
        if let Some((pool, recommended)) = patched.recommended_with_guards()
            && let Some(curve) = &pool.advice.candidates[recommended.index].curve
        {
            curve_text::push_curve(&mut text, "the recommended layout", curve);
        }
        if options.patches {
            push_patch_section(&mut text, resolved, patched, options);
        }
    }
    match options.all {
        true => push_limits(
            &mut text,
            &limit_notes(resolved, &run.notes),
            SEARCHED_INTERVALS,
        ),
        false => push_short_limits(&mut text, &limit_notes(resolved, &run.notes)),
    }
    text
}

fn push_patch_section(
    text: &mut String,
    resolved: &ResolvedProfile<'_>,
    patched: &PatchedType<'_>,
    options: &AdviceTextOptions,
) {
    let advised = &patched.advised;
    match &patched.patch {
        Some(PatchOutcome::Refused(reason)) => {
            let _ = writeln!(text, "{}\n", wrap_text(&format!("No patch: {reason}."), 2));
        }
        Some(PatchOutcome::Diff(written)) => {
            push_patch(text, resolved, patched, written, options);
        }
        None if advised.searched.outcome.is_err() => {}
        None => text.push_str("No patch: no layout is recommended.\n\n"),
    }
}

fn push_patch(
    text: &mut String,
    resolved: &ResolvedProfile<'_>,
    patched: &PatchedType<'_>,
    written: &WrittenPatch,
    options: &AdviceTextOptions,
) {
    let (advised, edited) = (&patched.advised, &written.edited);
    let (Some(pool), Some(candidate)) = (edited.pool(advised), edited.candidate(advised)) else {
        return;
    };
    let view = PoolView {
        resolved,
        gathered: &advised.searched.gathered,
        pool,
    };
    if let Some(reason) = &written.instead_reason {
        let transfers = instead_transfers(patched, candidate);
        let explanation = format!(
            "The recommended layout is not written as a patch: {reason}. This one is, with {transfers}."
        );
        let _ = writeln!(text, "{}", wrap_text(&explanation, 0));
    }
    let file = match &options.patch_file {
        Some(path) if !written.is_bad() => format!(" It is in {}.", path.display()),
        _ => String::new(),
    };
    let line = format!("Patch: {}.{file}", change_words(&view, candidate));
    let _ = writeln!(text, "{}", wrap_text(&line, 2));
    if let Some(sentence) = edited.reach.sentence() {
        let _ = writeln!(text, "{}", wrap_text(sentence, 0));
    }
    for sentence in written.compile_tests.iter().map(CompileTest::sentence) {
        let _ = writeln!(text, "{}", wrap_text(&sentence, 2));
    }
    if written.is_bad() {
        text.push_str("The patch is not good as it is.");
        if let Some(path) = &options.rejected_file {
            let _ = write!(text, " It is in {}.", path.display());
        }
        text.push('\n');
    }
    match options.diffs {
        true => text.extend(["\n", &edited.diff, "\n"]),
        false => text.push('\n'),
    }
}

/// Returns the text of `what-if`.
pub fn what_if_text(
    resolved: &ResolvedProfile<'_>,
    searched: &SearchedType<'_>,
    notes: &[String],
) -> String {
    let mut text = String::new();
    let gathered = &searched.gathered;
    push_heading(&mut text, gathered);
    match &searched.outcome {
        Err(refusal) => {
            let _ = writeln!(text, "Not judged: {refusal}.\n");
        }
        Ok(advice) => {
            let view = PoolView {
                resolved,
                gathered,
                pool: LayoutPool {
                    statements: &[],
                    user_layouts: &searched.user_layouts,
                    advice,
                    scenarios: &[],
                    crowded: None,
                },
            };
            for given in &advice.user_layouts {
                push_layout(&mut text, &view, given, given_name(given));
            }
            let rows: Vec<&RankedLayout> = advice.user_layouts.iter().collect();
            table::push_layout_table(&mut text, &view, &advice.current, &rows);
            push_given_effects(&mut text, &view);
            for given in &advice.user_layouts {
                if let Some(curve) = &given.curve {
                    curve_text::push_curve(&mut text, given_name(given), curve);
                }
            }
            let memory = memory_sentences(gathered, advice);
            let _ = writeln!(text, "{}", wrap_text(&memory, 2));
            search_words::push_phases(&mut text, advice);
            text.push('\n');
        }
    }
    push_limits(&mut text, &limit_notes(resolved, notes), GIVEN_INTERVALS);
    text
}

/// Returns the notes, after one about the recorded part of the time if that was not all of it.
fn limit_notes(resolved: &ResolvedProfile<'_>, notes: &[String]) -> Vec<String> {
    let recorded = recorded_time_words(&resolved.profile.meta)
        .map(|words| format!("Recorded: {words}. All counts are of this time."));
    recorded.into_iter().chain(notes.iter().cloned()).collect()
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
    text.extend([replay, intervals, throughput]);
}

fn push_given_effects(text: &mut String, view: &PoolView<'_>) {
    for given in &view.pool.advice.user_layouts {
        text.push_str(&search_words::effect_section(
            view,
            given,
            given_name(given),
        ));
        let shape = &view.gathered.shape;
        group_text::push_group_crossings(text, shape, given);
        text.push('\n');
    }
}

fn push_heading(text: &mut String, gathered: &GatheredType<'_>) {
    let instances = gathered.instances.iter();
    let accesses = instances
        .clone()
        .map(|instance| instance.trace.accesses.len());
    let accesses: usize = accesses.sum();
    let objects = instances.flat_map(|instance| {
        let starts = instance.starts();
        starts.map(move |start| (instance.run, instance.trace.base + u64::from(start)))
    });
    let mut objects: Vec<_> = objects.collect();
    objects.sort_unstable();
    objects.dedup();
    let _ = writeln!(
        text,
        "{}: {} in the profile, {} of them recorded in order ({accesses} accesses).\n",
        gathered.advised_subject.title(),
        counted(gathered.objects, "object"),
        objects.len(),
    );
}

fn push_type_section(
    text: &mut String,
    resolved: &ResolvedProfile<'_>,
    patched: &PatchedType<'_>,
    options: &AdviceTextOptions,
) {
    let advised = &patched.advised;
    let gathered = &advised.searched.gathered;
    push_heading(text, gathered);
    let pool = match (&advised.searched.outcome, advised.unguarded_pool()) {
        (Ok(_), Some(pool)) => pool,
        (outcome, _) => {
            if let Err(refusal) = outcome {
                let _ = writeln!(text, "No candidates: {refusal}.\n");
            }
            return;
        }
    };
    let view = PoolView {
        resolved,
        gathered,
        pool,
    };
    review_text::push_review(text, &view, patched, options.top);
    text.push('\n');
    if options.layouts {
        push_layouts(text, &view, patched);
    }
    if options.all {
        push_everything(text, &view, advised, options);
    }
}

/// Appends today's layout, the recommended one and the best found.
fn push_layouts(text: &mut String, view: &PoolView<'_>, patched: &PatchedType<'_>) {
    let advice = view.pool.advice;
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

/// Appends accesses, all candidates with their effects, and what was left out.
fn push_everything(
    text: &mut String,
    view: &PoolView<'_>,
    advised: &AdvisedType<'_>,
    options: &AdviceTextOptions,
) {
    let (gathered, advice) = (view.gathered, view.pool.advice);
    search_words::push_member_accesses(text, &advised.accesses);
    let mut rows: Vec<&RankedLayout> = advice.user_layouts.iter().collect();
    let candidates = advice.shown_candidates(options.top);
    rows.extend(candidates.iter().map(|index| &advice.candidates[*index]));
    table::push_layout_table(text, view, &advice.current, &rows);
    push_given_effects(text, view);
    push_best_and_scenarios(text, view, options.top);
    if let Some(best) = view.pool.best() {
        doubt_text::push_doubts(text, advised, best);
    }
    let memory = memory_sentences(gathered, advice);
    let _ = writeln!(text, "{}", wrap_text(&memory, 2));
    search_words::push_phases(text, advice);
    search_words::push_left_out(text, gathered, advice);
    guard_text::push_guard_section(text, view, advised, options.top);
    text.push('\n');
}

/// Appends the effects of the best layout in a pool, here and in other scenarios.
fn push_best_and_scenarios(text: &mut String, view: &PoolView<'_>, top: usize) {
    let advice = view.pool.advice;
    if let Some(best) = best_found(advice) {
        let effect = search_words::effect_section(view, best, "found 1");
        let _ = writeln!(text, "{effect}");
    }
    text.push_str(&wrap_text(&verdict_sentences(view), 0));
    if let Some(sentence) = inner_types_sentence(view) {
        text.push_str(&wrap_text(&format!("{sentence}\n"), 0));
    }
    scenario_text::push_scenarios(text, view.pool, top);
}

fn push_layout(text: &mut String, view: &PoolView<'_>, scored: &ScoredLayout, title: &str) {
    let _ = writeln!(text, "{title}\n{}", pahole_listing(view, scored));
}
