//! The text of `advise` and `what-if`.

mod check;
mod elsewhere;
mod inside;
pub mod lines;
pub(super) mod message;
mod table;
mod words;

use relayout_profile::{Addr, RunId};
use std::fmt::Write as _;
use std::path::PathBuf;

use relayout_search::{AdviceVerdict, LayoutAdvice, RankedLayout, ScoredLayout, change};

use super::TypeAdvice;
use super::gather::ContendedType;
use super::others::LayoutPool;
use super::patch::PatchOutcome;
use crate::resolved::ResolvedProfile;

/// What replay leaves out; printed with every result. What was chosen by the recording that it is judged by is
/// said between the two parts.
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
/// Of layouts that were looked for.
const SEARCHED_INTERVALS: &str = "; those in
  the table are of layouts that were chosen on all of it, what is said of the other half is not.
";
/// Of layouts that were given.
const GIVEN_INTERVALS: &str = ".\n";

/// Widest line of prose.
const WIDTH: usize = 100;

/// What to print.
pub struct AdviceTextOptions {
    /// Candidates by rank.
    pub top: usize,
    /// Layouts member by member.
    pub listings: bool,
    /// Whether a patch was asked for.
    pub patches: bool,
    /// The text of patches.
    pub diffs: bool,
    /// The file for patches that are good.
    pub patch_file: Option<PathBuf>,
    /// The file for patches that are bad.
    pub rejected_file: Option<PathBuf>,
    /// What is to be said beside.
    pub notes: Vec<String>,
}

/// The text of `advise`.
pub fn advise_text(
    input: &ResolvedProfile<'_>,
    advised: &[TypeAdvice<'_>],
    patches: &[Option<PatchOutcome>],
    skipped: &[ContendedType],
    options: &AdviceTextOptions,
) -> String {
    let mut text = String::new();
    for contended in skipped {
        let why = contended.skip_reason.as_deref().unwrap_or_default();
        let (name, transfers) = (&contended.name, counted(contended.transfers, "transfer"));
        let _ = writeln!(text, "Skipped: {name} ({transfers}): {why}");
    }
    if !skipped.is_empty() {
        text.push('\n');
    }
    if advised.is_empty() {
        let statement = match skipped.is_empty() {
            true => "No object of a struct has transfers between contexts in this profile",
            false => "Nothing else has transfers between contexts in this profile",
        };
        let line = format!(
            "{statement}: nothing to advise on. `relayout report` shows what was resolved and what was not."
        );
        let _ = writeln!(text, "{}", wrap_text(&line, 0));
        return text;
    }
    for (type_advice, patch) in advised.iter().zip(patches) {
        push_type_section(&mut text, input, type_advice, options);
        if options.patches {
            text.push_str(&patch_section(type_advice, patch.as_ref(), options));
        }
    }
    if !options.listings {
        text.push_str("`relayout advise PROFILE TYPE` prints the layouts member by member.\n\n");
    }
    push_limits(&mut text, &options.notes, SEARCHED_INTERVALS);
    text
}

fn patch_section(
    type_advice: &TypeAdvice<'_>,
    patch: Option<&PatchOutcome>,
    options: &AdviceTextOptions,
) -> String {
    let written_patch = match patch {
        Some(PatchOutcome::Refused(reason)) => {
            return wrap_text(&format!("No patch: {reason}."), 2) + "\n\n";
        }
        Some(PatchOutcome::Diff(written)) => written,
        None if type_advice.search_outcome.is_err() => return String::new(),
        None => return "No patch: no layout is clearly better.\n\n".to_owned(),
    };
    let Some(candidate) = written_patch.scored_candidate(type_advice) else {
        return String::new();
    };
    let mut text = String::new();
    if let Some(reason) = &written_patch.instead_reason {
        let best = type_advice
            .best_candidate()
            .map_or(0, |best| best.tally.transfers());
        let transfers = match candidate.tally.transfers() {
            transfers if transfers == best => format!("as many transfers: {transfers}"),
            own => format!("{own} transfers instead of {best}"),
        };
        let explanation =
            format!("The best is not written as a patch: {reason}. This one is, with {transfers}.");
        let _ = writeln!(text, "{}", wrap_text(&explanation, 0));
    }
    let file = match &options.patch_file {
        Some(path) if !written_patch.is_bad() => format!(" It is in {}.", path.display()),
        _ => String::new(),
    };
    let line = format!("Patch: {}.{file}", change_words(type_advice, candidate));
    let _ = writeln!(text, "{}", wrap_text(&line, 2));
    if let Some(words) = written_patch.reach.sentence() {
        let _ = writeln!(text, "{}", wrap_text(words, 0));
    }
    for compiled in &written_patch.compile_tests {
        let _ = writeln!(text, "{}", wrap_text(&compiled.sentence(), 2));
    }
    if written_patch.is_bad() {
        text.push_str("The patch is not good as it is.");
        if let Some(path) = &options.rejected_file {
            let _ = write!(text, " It is in {}.", path.display());
        }
        text.push('\n');
    }
    let diff = &written_patch.diff;
    match options.diffs {
        true => text + "\n" + diff + "\n",
        false => text + "\n",
    }
}

/// The text of `what-if`.
pub fn what_if_text(
    input: &ResolvedProfile<'_>,
    type_advice: &TypeAdvice<'_>,
    notes: &[String],
) -> String {
    let mut text = String::new();
    push_heading(&mut text, type_advice);
    match &type_advice.search_outcome {
        Err(reason) => {
            let _ = writeln!(text, "Not judged: {reason}.\n");
        }
        Ok(advice) => {
            for given in &advice.user_layouts {
                push_layout(&mut text, input, type_advice, given, given_name(given));
            }
            let rows: Vec<&RankedLayout> = advice.user_layouts.iter().collect();
            table::push_layout_table(&mut text, type_advice, &advice.current, &rows);
            push_given_effects(&mut text, input, type_advice, advice);
            let _ = writeln!(
                text,
                "{}",
                wrap_text(&words::memory_sentences(type_advice, advice), 2)
            );
            words::push_phases(&mut text, advice);
            text.push('\n');
        }
    }
    push_limits(&mut text, notes, GIVEN_INTERVALS);
    text
}

/// What holds for all that was said; `intervals`, for those in the table.
fn push_limits(text: &mut String, notes: &[String], intervals: &str) {
    for note in notes {
        let _ = writeln!(text, "{}\n", wrap_text(note, 0));
    }
    let [replay, throughput] = REPLAY_LIMITS;
    text.extend([replay, intervals, throughput]);
}

fn push_given_effects(
    text: &mut String,
    input: &ResolvedProfile<'_>,
    type_advice: &TypeAdvice<'_>,
    advice: &LayoutAdvice,
) {
    for given in &advice.user_layouts {
        let name = given_name(given);
        text.push_str(&words::effect_section(
            type_advice,
            advice,
            given,
            name,
            input.line_bytes,
        ));
        text.push('\n');
    }
}

fn push_heading(text: &mut String, type_advice: &TypeAdvice<'_>) {
    let accesses: usize = type_advice
        .instances
        .iter()
        .map(|instance| instance.trace.accesses.len())
        .sum();
    let mut recorded_objects: Vec<(RunId, Addr)> = type_advice
        .instances
        .iter()
        .map(|instance| (instance.run, instance.trace.base))
        .collect();
    recorded_objects.sort_unstable();
    recorded_objects.dedup();
    let _ = writeln!(
        text,
        "struct {}: {} in the profile, {} of them recorded in order ({accesses} accesses).\n",
        type_advice.name,
        counted(type_advice.objects, "object"),
        recorded_objects.len(),
    );
}

fn push_type_section(
    text: &mut String,
    input: &ResolvedProfile<'_>,
    type_advice: &TypeAdvice<'_>,
    options: &AdviceTextOptions,
) {
    push_heading(text, type_advice);
    let advice = match &type_advice.search_outcome {
        Ok(advice) => advice,
        Err(reason) => {
            let _ = writeln!(text, "No candidates: {reason}.\n");
            return;
        }
    };
    words::push_member_uses(text, type_advice);
    let best = best_found(advice);
    if options.listings {
        push_layout(text, input, type_advice, &advice.current, "Today's layout");
        if let Some(best) = best {
            let title = format!("Best found by replay: {}", change_words(type_advice, best));
            push_layout(text, input, type_advice, best, &title);
        }
    }
    let mut rows: Vec<&RankedLayout> = advice.user_layouts.iter().collect();
    let candidates = advice.shown_candidates(options.top);
    rows.extend(candidates.iter().map(|index| &advice.candidates[*index]));
    table::push_layout_table(text, type_advice, &advice.current, &rows);
    push_given_effects(text, input, type_advice, advice);
    if let Some(pool) = type_advice.unguarded_pool() {
        push_best_and_scenarios(text, input, type_advice, pool, options.top);
    }
    let _ = writeln!(
        text,
        "{}",
        wrap_text(&words::memory_sentences(type_advice, advice), 2)
    );
    words::push_phases(text, advice);
    words::push_left_out(text, type_advice, advice);
    check::push_guard_section(text, input, type_advice, advice, options.top);
    text.push('\n');
}

/// What the best of a pool does, here and elsewhere.
fn push_best_and_scenarios(
    text: &mut String,
    input: &ResolvedProfile<'_>,
    type_advice: &TypeAdvice<'_>,
    pool: LayoutPool<'_>,
    top: usize,
) {
    let advice = pool.advice;
    if let Some(best) = best_found(advice) {
        let effect = words::effect_section(type_advice, advice, best, "found 1", input.line_bytes);
        let _ = writeln!(text, "{effect}");
    }
    text.push_str(&wrap_text(
        &words::verdict_sentences(type_advice, advice),
        0,
    ));
    if let Some(sentence) =
        inside::inner_types_sentence(type_advice, input.resolution.types(), advice)
    {
        text.push_str(&wrap_text(&sentence, 0));
    }
    elsewhere::push_scenarios(text, pool, top);
}

/// The best, if something was found.
fn best_found(advice: &LayoutAdvice) -> Option<&RankedLayout> {
    let is_found = matches!(
        advice.verdict,
        AdviceVerdict::Better
            | AdviceVerdict::Traded
            | AdviceVerdict::Slower
            | AdviceVerdict::Slight
            | AdviceVerdict::Unclear
            | AdviceVerdict::Unstable
    );
    advice.candidates.first().filter(|_| is_found)
}

fn push_layout(
    text: &mut String,
    input: &ResolvedProfile<'_>,
    type_advice: &TypeAdvice<'_>,
    scored: &ScoredLayout,
    title: &str,
) {
    let _ = writeln!(
        text,
        "{title}\n{}",
        pahole_listing(input, type_advice, scored)
    );
}

/// As pahole prints it.
fn pahole_listing(
    input: &ResolvedProfile<'_>,
    type_advice: &TypeAdvice<'_>,
    scored: &ScoredLayout,
) -> String {
    let laid_out = type_advice.shape.apply_arrangement(
        &type_advice.aggregate,
        &scored.arrangement,
        &scored.layout,
    );
    let options = relayout_pahole_text::Options {
        cacheline_size: input.line_bytes.into(),
        ..relayout_pahole_text::Options::default()
    };
    let listing =
        relayout_pahole_text::render_aggregate(input.resolution.types(), &laid_out, &options);
    listing.unwrap_or_default()
}

fn given_name(scored: &ScoredLayout) -> &str {
    scored.name.as_deref().unwrap_or_default()
}

fn change_words(type_advice: &TypeAdvice<'_>, scored: &ScoredLayout) -> String {
    let guard_advice = type_advice.guard_advice.as_ref().filter(|_| scored.guarded);
    let mut words: Vec<String> = guard_advice.map_or(Vec::new(), |check| check.guard_words());
    words.extend(change::describe_edits(&scored.changes, &type_advice.shape));
    match words.is_empty() {
        true => "-".to_owned(),
        false => words.join(", "),
    }
}

/// `text` in lines of at most [`WIDTH`], those after the first indented by `indent`.
fn wrap_text(text: &str, indent: usize) -> String {
    wrap_text_at(WIDTH, text, indent)
}

fn wrap_text_at(width: usize, text: &str, indent: usize) -> String {
    let mut out = String::new();
    let mut column = 0;
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
            column = 0;
        }
        for (index, word) in line.split(' ').enumerate() {
            if index > 0 && column + 1 + word.len() > width {
                let _ = write!(out, "\n{:indent$}", "");
                column = indent;
            } else if index > 0 {
                out.push(' ');
                column += 1;
            }
            out.push_str(word);
            column += word.len();
        }
    }
    out
}

fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
