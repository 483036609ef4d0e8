//! The questions that a reviewer of a layout patch asks, with their answers, on one screen.

use std::fmt::Write as _;

use relayout_search::{ChangeInterval, EditSize, RankedLayout, Recommendation};
use relayout_session::advise::{
    AdviceDoubt, CompileTest, OtherScenario, PatchOutcome, PatchedType, PoolLayout, ScenarioKind,
    WrittenPatch,
};

use super::recommendation_text::recommendation_reason;
use super::{PoolView, change_words, doubt_text, order_text, search_words};
use crate::words::counted;
use crate::wrap::wrap_text;

/// Columns of the screen.
const COLUMNS: usize = 100;
/// Candidates in the short list.
const CANDIDATES_MAX: usize = 5;
/// Comments that are quoted.
const COMMENTS_MAX: usize = 2;
/// Scenarios that are named in one answer.
const SCENARIOS_MAX: usize = 4;
/// Places in the source that are named in one answer.
const USES_MAX: usize = 3;

/// Layout that the answers are about.
struct ReviewedLayout<'a> {
    view: PoolView<'a>,
    layout: PoolLayout,
    ranked: &'a RankedLayout,
    recommendation: Option<Recommendation>,
}

/// Appends the answers to a reviewer's questions about the recommended layout of a type, or about
/// the one that became the patch.
pub(super) fn push_review(
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
    let name = layout_name(&reviewed, top);
    push_line(text, &review_title(patched, &reviewed, &name), 2);
    text.push('\n');
    let answers = [
        (
            "1. Saves",
            saving_answer(&reviewed, &patched.advised.doubts_about(reviewed.ranked)),
        ),
        ("2. Memory", memory_answer(&reviewed)),
        ("3. Other workloads", workload_answer(&reviewed, top)),
        (
            "4. Configurations",
            configuration_answer(&reviewed, patched, top),
        ),
        ("5. Why this edit", reason_answer(patched, &reviewed)),
        ("6. Comment", comment_answer(patched)),
        ("7. Order", order_answer(&reviewed)),
    ];
    for (question, answer) in answers {
        push_line(text, &format!("{question:<19} {answer}"), 20);
    }
    push_candidates(text, &reviewed.view, Some(reviewed.layout), top);
}

fn push_line(text: &mut String, line: &str, indent: usize) {
    let _ = writeln!(text, "{}", wrap_text(line, indent));
}

/// Returns what the answers are about: `Recommended (found 1): move 'a' to after 'b'.`
fn review_title(patched: &PatchedType<'_>, reviewed: &ReviewedLayout<'_>, name: &str) -> String {
    let changes = change_words(&reviewed.view, reviewed.ranked);
    if let Some(reason) = instead_reason(patched) {
        let transfers = super::instead_transfers(patched, reviewed.ranked);
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

/// Returns the layout of the patch, else the recommended one.
fn reviewed_layout<'a>(
    view: &PoolView<'a>,
    patched: &'a PatchedType<'_>,
) -> Option<ReviewedLayout<'a>> {
    let advised = &patched.advised;
    if let Some(PatchOutcome::Diff(written)) = &patched.patch {
        let edited = &written.edited;
        let pool = edited.pool(advised)?;
        let recommended = pool.recommendations(patched.limits);
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

fn nothing_recommended(view: &PoolView<'_>, patched: &PatchedType<'_>) -> String {
    let reason = recommendation_reason(patched, None);
    let verdict = search_words::verdict_sentences(view);
    let mut sentences = match verdict.trim_end() {
        "" => format!("Nothing is recommended. {reason}"),
        verdict => format!("Nothing is recommended. {verdict}"),
    };
    if let Some(inner) = super::inner_types_sentence(view) {
        sentences.push(' ');
        sentences.push_str(&inner);
    }
    sentences
}

/// Returns `found 3`, the number that `--pick` takes, or the name of a given layout.
fn layout_name(reviewed: &ReviewedLayout<'_>, top: usize) -> String {
    match reviewed.layout {
        PoolLayout::Given(_) => reviewed.ranked.name.clone().unwrap_or_default(),
        PoolLayout::Candidate(index) => {
            let mut shown = reviewed.view.pool.advice.shown_candidates(top).into_iter();
            match shown.position(|other| other == index) {
                Some(place) => format!("found {}", place + 1),
                None => "as good as the best of its size".to_owned(),
            }
        }
    }
}

fn saving_answer(reviewed: &ReviewedLayout<'_>, doubts: &[AdviceDoubt]) -> String {
    let advice = reviewed.view.pool.advice;
    let (today, then) = (&advice.current, reviewed.ranked);
    let resolved = reviewed.view.resolved;
    let mut text = format!(
        "transfers from {}",
        search_words::from_to_words(today.tally.transfers(), then.tally.transfers())
    );
    if let Some(ChangeInterval { low, high, .. }) = then.interval {
        let _ = write!(
            text,
            ", 95% interval {:+.1}% to {:+.1}%",
            low * 100.0,
            high * 100.0
        );
    }
    if let (Some(before), Some(after)) = (today.pair_transfers, then.pair_transfers) {
        let pairs = search_words::from_to_words(before, after);
        let _ = write!(text, ", stores to the other line of a pair, from {pairs}");
    }
    let _ = write!(
        text,
        ", of what was recorded in order of {}.",
        resolved.profile.meta.workload
    );
    if let (Some(before), Some(after)) = (today.per_operation, then.per_operation) {
        let (before, after) = (before.transfers(), after.transfers());
        let _ = write!(text, " Per operation {before:.3} to {after:.3}.");
    }
    if let Some(sentence) = doubt_text::part_sentence(then) {
        let _ = write!(text, " {sentence}");
    } else if let Some(interval) = advice.held_out {
        let _ = write!(
            text,
            " Chosen on one half of it and counted on the other, the best changes them by {:+.1}%.",
            interval.change * 100.0
        );
    }
    match &then.gain {
        Some(gain) => {
            let _ = write!(
                text,
                " Predicted throughput for {} CPUs, not measured: {:.2} times today's ({:.2} to {:.2}).",
                gain.contexts, gain.ratio.value, gain.ratio.low, gain.ratio.high
            );
        }
        None if then.curve.is_some() => {
            text.push_str(" Throughput is predicted below; `relayout verify` measures it.");
        }
        None => text.push_str(" Throughput is not predicted; `relayout verify` measures it."),
    }
    if !doubts.is_empty() {
        let _ = write!(text, " {}", doubt_text::doubt_paragraph(doubts));
    }
    text
}

fn memory_answer(reviewed: &ReviewedLayout<'_>) -> String {
    let (today, then) = (&reviewed.view.pool.advice.current, reviewed.ranked);
    let gathered = reviewed.view.gathered;
    let (before, after) = (today.memory.bytes_per_object, then.memory.bytes_per_object);
    let mut text = match then.layout.size.cmp(&today.layout.size) {
        std::cmp::Ordering::Equal => format!("sizeof stays {}", today.layout.size),
        _ => format!("sizeof from {} to {}", today.layout.size, then.layout.size),
    };
    let cache = then.memory.cache.as_deref();
    let in_cache = cache.map_or(String::new(), |cache| format!(" in {cache}"));
    let _ = match before == after {
        true => write!(text, "; an object takes {after} bytes{in_cache}, as today"),
        false => write!(
            text,
            "; an object takes {after} bytes{in_cache}, {before} today"
        ),
    };
    let bytes = (i128::from(after) - i128::from(before)) * i128::from(gathered.objects);
    let seen = counted(gathered.objects, "object");
    let _ = write!(text, "; {bytes:+} bytes for the {seen} seen.");
    if let Some(sentence) = search_words::own_allocator_sentence(gathered, today, then) {
        let _ = write!(text, " {sentence}");
    }
    let holders = gathered.size_effects.holder_counts.len() as u64;
    if holders > 0 && then.layout.size != today.layout.size {
        let _ = write!(
            text,
            " {} hold it by value and move with it.",
            counted(holders, "type")
        );
    }
    text
}

fn workload_answer(reviewed: &ReviewedLayout<'_>, top: usize) -> String {
    let answer = scenario_answer(reviewed, ScenarioKind::Workload, top);
    answer.unwrap_or_else(|| "none was given: --also PROFILE scores it in another.".to_owned())
}

fn configuration_answer(
    reviewed: &ReviewedLayout<'_>,
    patched: &PatchedType<'_>,
    top: usize,
) -> String {
    let mut answers: Vec<String> = Vec::new();
    answers.extend(scenario_answer(reviewed, ScenarioKind::Configuration, top));
    if let Some(PatchOutcome::Diff(written)) = &patched.patch {
        answers.extend(written.edited.reach.sentence().map(str::to_owned));
        answers.extend(written.compile_tests.iter().map(CompileTest::sentence));
    }
    match answers.is_empty() {
        true => {
            "none was given: --config NAME=VMLINUX scores another build, --compile ARCH:CONFIG \
             compiles the patch for it (32-bit too)."
                .to_owned()
        }
        false => answers.join(" "),
    }
}

/// Returns the changes in the scenarios of a kind; `None` if none was given.
fn scenario_answer(
    reviewed: &ReviewedLayout<'_>,
    kind: ScenarioKind,
    top: usize,
) -> Option<String> {
    let pool = reviewed.view.pool;
    let listed = reviewed.layout.listed_index(pool, top);
    let scenarios: Vec<&OtherScenario> = { pool.scenarios.iter() }
        .filter(|scenario| scenario.kind == kind)
        .collect();
    let shown = scenarios.iter().take(SCENARIOS_MAX);
    let mut words: Vec<String> = shown
        .map(|scenario| scenario_words(scenario, listed))
        .collect();
    let more = scenarios.len().saturating_sub(SCENARIOS_MAX);
    if more > 0 {
        words.push(format!("{more} more (--all)"));
    }
    let loses = listed.is_some_and(|listed| {
        let mut hurt = pool.scenarios_hurt_by(listed).into_iter();
        hurt.any(|scenario| scenario.kind == kind)
    });
    let verdict = if loses { "loses" } else { "none loses" };
    (!scenarios.is_empty()).then(|| format!("{verdict}: {}.", words.join(", ")))
}

fn scenario_words(scenario: &OtherScenario, listed: Option<usize>) -> String {
    let path = scenario.name.trim_end_matches('/');
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    let name = name.trim_end_matches(".relayout");
    let scores = listed.and_then(|listed| scenario.results_at(listed));
    match (&scenario.results, scores) {
        (Err(reason), _) => format!("{name} not judged ({reason})"),
        (Ok(_), None) => format!("{name} not scored"),
        (Ok(_), Some((own, there))) => {
            let (before, after) = (own.tally.transfers(), there.tally.transfers());
            match before {
                0 => format!("{name} {before} to {after}"),
                _ => {
                    let change = (after as f64 / before as f64 - 1.0) * 100.0;
                    format!("{name} {change:+.1}%")
                }
            }
        }
    }
}

fn reason_answer(patched: &PatchedType<'_>, reviewed: &ReviewedLayout<'_>) -> String {
    match &reviewed.recommendation {
        Some(recommendation) => recommendation_reason(patched, Some(recommendation)),
        None => "it was chosen by hand; the recommendation may be another.".to_owned(),
    }
}

fn comment_answer(patched: &PatchedType<'_>) -> String {
    match &patched.patch {
        Some(PatchOutcome::Diff(written)) => written_comments(written),
        Some(PatchOutcome::Refused(reason)) => format!("no patch: {reason}."),
        None => "--source DIR writes the patch, with the reason beside each member.".to_owned(),
    }
}

/// Quotes the comments that a patch adds.
fn written_comments(written: &WrittenPatch) -> String {
    let edited = &written.edited;
    let lines = edited.changed_lines() as u64;
    let mut text = format!(
        "the patch changes {} of {}",
        counted(lines, "line"),
        edited.paths[0]
    );
    let added = edited
        .diff
        .lines()
        .filter_map(|line| line.strip_prefix('+'));
    let comments: Vec<&str> = added
        .map(str::trim)
        .filter(|line| line.starts_with("/*") && line.ends_with("*/") || line.starts_with("// "))
        .collect();
    match comments.is_empty() {
        true => text.push_str(", without a comment of one line."),
        false => {
            let shown = &comments[..comments.len().min(COMMENTS_MAX)];
            let _ = write!(text, ": {}", shown.join(" "));
        }
    }
    text
}

fn order_answer(reviewed: &ReviewedLayout<'_>) -> String {
    let gathered = reviewed.view.gathered;
    let mut answers = order_text::order_answers(gathered, USES_MAX);
    if gathered.is_compiler_ordered() {
        return "the compiler orders the fields of a Rust struct without #[repr(C)]: no code relies on it."
            .to_owned();
    }
    if gathered.order.search.is_none() && !gathered.is_rust() {
        answers.push("--source DIR looks for code that relies on it.".to_owned());
    }
    if answers.is_empty() {
        answers.push("no code that relies on it was found in the source.".to_owned());
    }
    answers.join(" ")
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
