//! The text of `advise` and `what-if`.

mod check;
mod elsewhere;
mod inside;
pub mod lines;
pub(super) mod message;
mod table;
mod words;

use std::fmt::Write as _;
use std::path::PathBuf;

use relayout_layout::pahole;
use relayout_search::{Advice, Scored, Verdict, change};

use super::TypeAdvice;
use super::gather::Contended;
use super::others::Pool;
use super::patch::Outcome;
use crate::input::Input;

/// What replay leaves out; printed with every result. What was chosen by the recording that it is judged by is
/// said between the two parts.
const LIMITS: [&str; 2] = [
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
const CHOSEN: &str = "; those in
  the table are of layouts that were chosen on all of it, what is said of the other half is not.
";
/// Of layouts that were given.
const GIVEN: &str = ".\n";

/// Widest line of prose.
const WIDTH: usize = 100;

/// What to print.
pub struct Shown {
    /// Candidates by rank.
    pub top: usize,
    /// Layouts member by member.
    pub listings: bool,
    /// Whether a patch was asked for.
    pub patches: bool,
    /// The text of patches.
    pub diffs: bool,
    /// The file for patches that are good.
    pub written: Option<PathBuf>,
    /// The file for patches that are bad.
    pub rejected: Option<PathBuf>,
    /// What is to be said beside.
    pub notes: Vec<String>,
}

/// The text of `advise`.
pub fn advise(
    input: &Input<'_>,
    all: &[TypeAdvice<'_>],
    patches: &[Option<Outcome>],
    skipped: &[Contended],
    shown: &Shown,
) -> String {
    let mut text = String::new();
    for one in skipped {
        let why = one.skipped.as_deref().unwrap_or_default();
        let (name, transfers) = (&one.name, counted(one.transfers, "transfer"));
        let _ = writeln!(text, "Skipped: {name} ({transfers}): {why}");
    }
    if !skipped.is_empty() {
        text.push('\n');
    }
    if all.is_empty() {
        let none = match skipped.is_empty() {
            true => "No object of a struct has transfers between contexts in this profile",
            false => "Nothing else has transfers between contexts in this profile",
        };
        let line = format!(
            "{none}: nothing to advise on. `relayout report` shows what was resolved and what was not."
        );
        let _ = writeln!(text, "{}", wrapped(&line, 0));
        return text;
    }
    for (one, patch) in all.iter().zip(patches) {
        one_type(&mut text, input, one, shown);
        if shown.patches {
            text.push_str(&patch_words(one, patch.as_ref(), shown));
        }
    }
    if !shown.listings {
        text.push_str("`relayout advise PROFILE TYPE` prints the layouts member by member.\n\n");
    }
    end(&mut text, &shown.notes, CHOSEN);
    text
}

fn patch_words(one: &TypeAdvice<'_>, patch: Option<&Outcome>, shown: &Shown) -> String {
    let written = match patch {
        Some(Outcome::Refused(why)) => {
            return wrapped(&format!("No patch: {why}."), 2) + "\n\n";
        }
        Some(Outcome::Diff(written)) => written,
        None if one.outcome.is_err() => return String::new(),
        None => return "No patch: no layout is clearly better.\n\n".to_owned(),
    };
    let Some(candidate) = written.scored(one) else {
        return String::new();
    };
    let mut text = String::new();
    if let Some(why) = &written.instead {
        let best = one.best().map_or(0, |best| best.tally.transfers());
        let transfers = match candidate.tally.transfers() {
            own if own == best => format!("as many transfers: {own}"),
            own => format!("{own} transfers instead of {best}"),
        };
        let why =
            format!("The best is not written as a patch: {why}. This one is, with {transfers}.");
        let _ = writeln!(text, "{}", wrapped(&why, 0));
    }
    let file = match &shown.written {
        Some(path) if !written.is_bad() => format!(" It is in {}.", path.display()),
        _ => String::new(),
    };
    let line = format!("Patch: {}.{file}", words(one, candidate));
    let _ = writeln!(text, "{}", wrapped(&line, 2));
    if let Some(words) = written.reach.words() {
        let _ = writeln!(text, "{}", wrapped(words, 0));
    }
    for compiled in &written.compiled {
        let _ = writeln!(text, "{}", wrapped(&compiled.words(), 2));
    }
    if written.is_bad() {
        text.push_str("The patch is not good as it is.");
        if let Some(path) = &shown.rejected {
            let _ = write!(text, " It is in {}.", path.display());
        }
        text.push('\n');
    }
    let diff = &written.diff;
    match shown.diffs {
        true => text + "\n" + diff + "\n",
        false => text + "\n",
    }
}

/// The text of `what-if`.
pub fn what_if(input: &Input<'_>, one: &TypeAdvice<'_>, notes: &[String]) -> String {
    let mut text = String::new();
    heading(&mut text, one);
    match &one.outcome {
        Err(why) => {
            let _ = writeln!(text, "Not judged: {why}.\n");
        }
        Ok(advice) => {
            for given in &advice.given {
                layout_of(&mut text, input, one, given, name_of(given));
            }
            let rows: Vec<&Scored> = std::iter::once(&advice.current)
                .chain(&advice.given)
                .collect();
            table::table(&mut text, one, &rows);
            effects_of_given(&mut text, input, one, advice);
            let _ = writeln!(text, "{}", wrapped(&words::memory(one, advice), 2));
            words::by_phase(&mut text, advice);
            text.push('\n');
        }
    }
    end(&mut text, notes, GIVEN);
    text
}

/// What holds for all that was said; `intervals`, for those in the table.
fn end(text: &mut String, notes: &[String], intervals: &str) {
    for note in notes {
        let _ = writeln!(text, "{}\n", wrapped(note, 0));
    }
    let [replay, throughput] = LIMITS;
    text.extend([replay, intervals, throughput]);
}

fn effects_of_given(text: &mut String, input: &Input<'_>, one: &TypeAdvice<'_>, advice: &Advice) {
    for given in &advice.given {
        let name = name_of(given);
        text.push_str(&words::effect(one, advice, given, name, input.line_bytes));
        text.push('\n');
    }
}

fn heading(text: &mut String, one: &TypeAdvice<'_>) {
    let accesses: usize = one
        .instances
        .iter()
        .map(|one| one.trace.accesses.len())
        .sum();
    let mut recorded: Vec<(u16, u64)> = one
        .instances
        .iter()
        .map(|one| (one.run, one.trace.base))
        .collect();
    recorded.sort_unstable();
    recorded.dedup();
    let _ = writeln!(
        text,
        "struct {}: {} in the profile, {} of them recorded in order ({accesses} accesses).\n",
        one.name,
        counted(one.objects, "object"),
        recorded.len(),
    );
}

fn one_type(text: &mut String, input: &Input<'_>, one: &TypeAdvice<'_>, shown: &Shown) {
    heading(text, one);
    let advice = match &one.outcome {
        Ok(advice) => advice,
        Err(why) => {
            let _ = writeln!(text, "No candidates: {why}.\n");
            return;
        }
    };
    words::evidence(text, one);
    let best = found(advice);
    if shown.listings {
        layout_of(text, input, one, &advice.current, "Today's layout");
        if let Some(best) = best {
            let title = format!("Best found by replay: {}", words(one, best));
            layout_of(text, input, one, best, &title);
        }
    }
    let mut rows = vec![&advice.current];
    rows.extend(&advice.given);
    let candidates = advice.shown(shown.top);
    rows.extend(candidates.iter().map(|index| &advice.candidates[*index]));
    table::table(text, one, &rows);
    effects_of_given(text, input, one, advice);
    if let Some(pool) = one.plain() {
        best_and_others(text, input, one, pool, shown.top);
    }
    let _ = writeln!(text, "{}", wrapped(&words::memory(one, advice), 2));
    words::by_phase(text, advice);
    words::left_out(text, one, advice);
    check::section(text, input, one, advice, shown.top);
    text.push('\n');
}

/// What the best of a pool does, here and elsewhere.
fn best_and_others(
    text: &mut String,
    input: &Input<'_>,
    one: &TypeAdvice<'_>,
    pool: Pool<'_>,
    top: usize,
) {
    let advice = pool.advice;
    if let Some(best) = found(advice) {
        let effect = words::effect(one, advice, best, "found 1", input.line_bytes);
        let _ = writeln!(text, "{effect}");
    }
    text.push_str(&wrapped(&words::verdict(one, advice), 0));
    if let Some(inside) = inside::sentence(one, input.resolution.types(), advice) {
        text.push_str(&wrapped(&inside, 0));
    }
    elsewhere::sentences(text, pool, top);
}

/// The best, if something was found.
fn found(advice: &Advice) -> Option<&Scored> {
    let found = matches!(
        advice.verdict,
        Verdict::Better
            | Verdict::Traded
            | Verdict::Slower
            | Verdict::Slight
            | Verdict::Unclear
            | Verdict::Unstable
    );
    advice.candidates.first().filter(|_| found)
}

fn layout_of(
    text: &mut String,
    input: &Input<'_>,
    one: &TypeAdvice<'_>,
    scored: &Scored,
    title: &str,
) {
    let _ = writeln!(text, "{title}\n{}", listing(input, one, scored));
}

/// As pahole prints it.
fn listing(input: &Input<'_>, one: &TypeAdvice<'_>, scored: &Scored) -> String {
    let laid_out = one
        .shape
        .apply(&one.aggregate, &scored.arrangement, &scored.layout);
    let options = pahole::Options {
        cacheline_size: input.line_bytes.into(),
        ..pahole::Options::default()
    };
    let listing = pahole::render_aggregate(input.resolution.types(), &laid_out, &options);
    listing.unwrap_or_default()
}

fn name_of(scored: &Scored) -> &str {
    scored.name.as_deref().unwrap_or_default()
}

fn words(one: &TypeAdvice<'_>, scored: &Scored) -> String {
    let check = one.check.as_ref().filter(|_| scored.checked);
    let mut all: Vec<String> = check.map_or(Vec::new(), |check| check.words());
    all.extend(change::words(&scored.changes, &one.shape));
    match all.is_empty() {
        true => "-".to_owned(),
        false => all.join(", "),
    }
}

/// `text` in lines of at most [`WIDTH`], those after the first indented by `indent`.
fn wrapped(text: &str, indent: usize) -> String {
    wrapped_at(WIDTH, text, indent)
}

fn wrapped_at(width: usize, text: &str, indent: usize) -> String {
    let mut out = String::new();
    let mut column = 0;
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
            column = 0;
        }
        for (nth, word) in line.split(' ').enumerate() {
            if nth > 0 && column + 1 + word.len() > width {
                let _ = write!(out, "\n{:indent$}", "");
                column = indent;
            } else if nth > 0 {
                out.push(' ');
                column += 1;
            }
            out.push_str(word);
            column += word.len();
        }
    }
    out
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
