//! The answers about a layout, one function each.

use std::fmt::Write as _;

use relayout_advice::{AdviceDoubt, OtherScenario, ProposedLayout, ScenarioKind};
use relayout_profile::ProfileMeta;
use relayout_search::ChangeInterval;
use relayout_session::advise::{CompileTest, PatchOutcome, PatchedType, WrittenPatch};

use crate::words::advice::recommendation::recommendation_reason;
use crate::words::advice::review::ReviewedLayout;
use crate::words::advice::simulated_gain::simulated_gain_sentence;
use crate::words::advice::{doubts, from_to_words, memory, order, places};
use crate::words::counted;
use crate::words::percent::signed_percent;

/// Comments that are quoted.
const COMMENTS_MAX: usize = 2;

/// Scenarios that are named in one answer.
const SCENARIOS_MAX: usize = 4;

/// Places in the source that are named in one answer.
const USES_MAX: usize = 3;

/// Returns what the layout brings in simulated time; `None` where that was not asked for.
pub(super) fn gain_answer(
    patched: &PatchedType<'_>,
    reviewed: &ReviewedLayout<'_>,
) -> Option<String> {
    let proposed = ProposedLayout {
        layout: reviewed.layout,
        is_guarded: !reviewed.view.pool.statements.is_empty(),
    };
    let simulated = patched.advised.simulated_layout(proposed)?;
    Some(simulated_gain_sentence(simulated))
}

pub(super) fn saving_answer(
    patched: &PatchedType<'_>,
    reviewed: &ReviewedLayout<'_>,
    doubts: &[AdviceDoubt],
) -> String {
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
        None if !patched.advised.simulated.is_empty() => {}
        None => text.push_str(throughput_words(&resolved.profile.meta)),
    }
    if !doubts.is_empty() {
        let _ = write!(text, " {}", doubts::doubt_paragraph(doubts));
    }
    text
}

/// Says how to know what a layout brings to throughput.
fn throughput_words(meta: &ProfileMeta) -> &'static str {
    if meta.simulated_machine.is_some() {
        " Throughput is simulated by --simulate, and measured by `relayout verify`."
    } else {
        " Throughput is simulated for recordings in simulated time (`relayout record --machine NAME`), and measured by \
         `relayout verify`."
    }
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

pub(super) fn memory_answer(reviewed: &ReviewedLayout<'_>) -> String {
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

pub(super) fn workload_answer(reviewed: &ReviewedLayout<'_>, top: usize) -> String {
    let answer = scenario_answer(reviewed, ScenarioKind::Workload, top);
    answer.unwrap_or_else(|| "none was given: --also PROFILE scores it in another.".to_owned())
}

pub(super) fn configuration_answer(
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
    match (answers.is_empty(), reviewed.view.resolved.profile.meta.target.as_str()) {
        (false, _) => answers.join(" "),
        (true, "kernel") => {
            "none was given: --other-build NAME=VMLINUX scores another build, --compile ARCH:CONFIG \
             compiles the patch for it (32-bit too)."
                .to_owned()
        }
        (true, _) => {
            "none was given: --other-build NAME=PROGRAM scores another build of it.".to_owned()
        }
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

pub(super) fn reason_answer(patched: &PatchedType<'_>, reviewed: &ReviewedLayout<'_>) -> String {
    match &reviewed.recommendation {
        Some(recommendation) => recommendation_reason(patched, Some(recommendation)),
        None => "it was chosen by hand; the recommendation may be another.".to_owned(),
    }
}

pub(super) fn comment_answer(patched: &PatchedType<'_>) -> String {
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

pub(super) fn order_answer(reviewed: &ReviewedLayout<'_>) -> String {
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
