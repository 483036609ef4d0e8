//! Answers to the questions that a reviewer of a layout patch asks.

use std::fmt::Write as _;

use relayout_advice::{
    AdviceDoubt, LayoutPool, OtherScenario, PoolLayout, ScenarioKind, element_instructions,
};
use relayout_search::{ChangeInterval, RankedLayout, Recommendation};
use relayout_session::advise::{CompileTest, PatchOutcome, PatchedType, WrittenPatch};

use crate::words::advice::recommendation::recommendation_reason;
use crate::words::advice::{PoolView, change_words, doubts, from_to_words, memory, order, places};
use crate::words::counted;
use crate::words::percent::signed_percent;

/// Comments that are quoted.
const COMMENTS_MAX: usize = 2;
/// Scenarios that are named in one answer.
const SCENARIOS_MAX: usize = 4;
/// Places in the source that are named in one answer.
const USES_MAX: usize = 3;

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
    let mut answers = vec![
        ("Saves", saving_answer(reviewed, &doubts)),
        ("Memory", memory_answer(reviewed)),
        ("Other workloads", workload_answer(reviewed, top)),
        (
            "Configurations",
            configuration_answer(reviewed, patched, top),
        ),
        ("Why this edit", reason_answer(patched, reviewed)),
        ("Comment", comment_answer(patched)),
        ("Order", order_answer(reviewed)),
    ];
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

fn saving_answer(reviewed: &ReviewedLayout<'_>, doubts: &[AdviceDoubt]) -> String {
    let advice = reviewed.view.pool.advice;
    let (today, then) = (&advice.current, reviewed.ranked);
    let resolved = reviewed.view.resolved;
    let mut text = format!(
        "transfers from {}",
        from_to_words(today.tally.transfers(), then.tally.transfers())
    );
    if let Some(ChangeInterval { low, high, .. }) = then.interval {
        let _ = write!(
            text,
            ", 95% interval {} to {}",
            signed_percent(low),
            signed_percent(high)
        );
    }
    if let (Some(before), Some(after)) = (today.pair_transfers, then.pair_transfers) {
        let pairs = from_to_words(before, after);
        let _ = write!(text, ", stores to the other line of a pair, from {pairs}");
    }
    let _ = write!(
        text,
        ", of what was recorded in order of {}.",
        resolved.profile.meta.workload
    );
    if let (Some(before), Some(after)) = (today.per_operation, then.per_operation) {
        let whole = [today, then].map(|scored| scored.tally.transfers() as f64);
        text.push_str(&per_operation_words(
            [before.transfers(), after.transfers()],
            whole,
        ));
    }
    if let Some(sentence) = places::place_sentence(today, then) {
        let _ = write!(text, " {sentence}");
    }
    if let Some(sentence) = doubts::part_sentence(then) {
        let _ = write!(text, " {sentence}");
    } else if let Some(interval) = advice.held_out {
        let _ = write!(
            text,
            " Chosen on one half of it and counted on the other, the best changes them by {}.",
            signed_percent(interval.change)
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
        None => text.push_str(
            " Predict throughput: --machine NAME (`relayout probe --machines` lists them). Measure it: \
             `relayout verify`.",
        ),
    }
    if !doubts.is_empty() {
        let _ = write!(text, " {}", doubts::doubt_paragraph(doubts));
    }
    text
}

/// Returns the transfers per operation of today's layout and of another, and the reason if they
/// change by another percentage than `whole`, the transfers of both in all.
fn per_operation_words([before, after]: [f64; 2], whole: [f64; 2]) -> String {
    let percent = |[before, after]: [f64; 2]| (after / before.max(f64::MIN_POSITIVE) - 1.0) * 100.0;
    let change = percent([before, after]);
    let text = format!(" Per operation {before:.3} to {after:.3} ({change:+.1}%)");
    // As many digits as the percentages are shown with.
    match format!("{change:.1}") == format!("{:.1}", percent(whole)) {
        true => text + ".",
        false => {
            text + "; it differs because each object counts by the operations during which it was \
                    recorded, and most were not recorded all the time."
        }
    }
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
    if then.layout.run_align > 1 {
        let _ = write!(
            text,
            " {} more if each thread or CPU keeps the elements that it has, none if they are divided anew.",
            counted(then.run_growth, "element")
        );
    }
    if let Some(sentence) = memory::own_allocator_sentence(gathered, today, then) {
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
            "none was given: --other-build NAME=VMLINUX scores another build, --compile ARCH:CONFIG \
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
                    let change = signed_percent(after as f64 / before as f64 - 1.0);
                    format!("{name} {change}")
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
    for comment in &edited.comments_to_review {
        let _ = write!(
            text,
            " The comment at {} is about cache lines and covers '{}': bring it in line with the new place.",
            comment.place, comment.member
        );
    }
    text
}

fn order_answer(reviewed: &ReviewedLayout<'_>) -> String {
    let gathered = reviewed.view.gathered;
    let mut answers = order::order_answers(gathered, USES_MAX);
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
