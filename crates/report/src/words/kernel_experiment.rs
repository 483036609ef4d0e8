//! Sentences and notes on an experiment with kernels, which its text and its document share.

use relayout_verify::judge::{ExperimentOutcome, JudgedMetric};
use relayout_verify::judged_change::ChangeVerdict;
use relayout_workflows::verify::kernel::{
    BootSamples, DetailSelection, FALSE_BY_FIRST_TOUCH, KERNEL, OPERATIONS, member_metric_name,
};

use super::experiment::{boots_note, comparisons_note};
use super::percent::{percent, signed_percent};
use crate::documents::kernel_verify::contents::KernelContents;

/// Words for a higher rate and for a lower one.
const RATE_WORDS: [&str; 2] = ["more", "fewer"];
/// Least number of pairs for a statement that misses moved. With this number, the ranges of two
/// identical sides are apart in 2 of 70 experiments, for one member.
const PAIRS_MOVED_MIN: usize = 4;

/// The metric of that name in a setting.
pub(crate) fn find_metric<'o>(
    outcome: &'o ExperimentOutcome,
    name: &str,
    setting: &str,
) -> Option<&'o JudgedMetric> {
    let whole = format!("{name}[{setting}]");
    outcome
        .metrics
        .iter()
        .find(|metric| metric.description.name == whole)
}

/// Describes the outcome, in one sentence for each type and setting. `outcome` judges the types and
/// the kernel, and `details` judges the classes.
pub(crate) fn kernel_sentences(
    samples: &BootSamples,
    outcome: &ExperimentOutcome,
    details: &ExperimentOutcome,
) -> Vec<String> {
    let mut words = Vec::new();
    for setting in samples.setting_names() {
        if let Some(rate) = find_metric(outcome, OPERATIONS, &setting) {
            let change = change_text(rate, RATE_WORDS);
            words.push(format!("{setting}: operations a second: {change}"));
        }
        for name in samples.type_names() {
            let moved = misses_moved(details, &name, &samples.member_names(&name), &setting);
            words.extend(type_sentence(outcome, details, &name, &setting, moved));
        }
        if let Some(kernel) = find_metric(outcome, KERNEL, &setting) {
            let change = count_text(kernel);
            words.push(format!(
                "{setting}: transfers of the whole kernel: {change}"
            ));
        }
    }
    words
}

/// Members that lost misses and members that gained them, if the ranges of all boots are apart. It
/// is `None` without a member of each kind.
fn misses_moved(
    details: &ExperimentOutcome,
    name: &str,
    members: &[String],
    setting: &str,
) -> Option<String> {
    let apart = |is_gone: bool| {
        let found = { members.iter() }.filter_map(|member| {
            let metric = find_metric(details, &member_metric_name(name, member), setting)?;
            let (before, after) = (&metric.before, &metric.after);
            let enough = before.count.min(after.count) >= PAIRS_MOVED_MIN;
            let went = before.median > after.median;
            let apart = enough && before.is_apart_from(after) && went == is_gone;
            apart.then(|| {
                let member = if member.is_empty() { "a hole" } else { member };
                format!("{member} ({:.2} to {:.2})", before.median, after.median)
            })
        });
        let found: Vec<String> = found.collect();
        (!found.is_empty()).then(|| found.join(", "))
    };
    Some(format!("from {} to {}", apart(true)?, apart(false)?))
}

/// Describes the change of a type. `moved` names the members that lost and gained misses.
fn type_sentence(
    outcome: &ExperimentOutcome,
    details: &ExperimentOutcome,
    name: &str,
    setting: &str,
    moved: Option<String>,
) -> Option<String> {
    let metric = find_metric(outcome, name, setting)?;
    let mut text = format!("{setting}: transfers of {name}: {}", count_text(metric));
    if let Some(kernel) = find_metric(outcome, KERNEL, setting)
        && kernel.before.median > 0.0
    {
        let share = 100.0 * metric.before.median / kernel.before.median;
        text.push_str(&format!("; they were {share:.1}% of the kernel's"));
    }
    let first_touch = format!("{name}{FALSE_BY_FIRST_TOUCH}");
    let first_touch = { find_metric(details, &first_touch, setting) }
        .filter(|found| found.judged.verdict == ChangeVerdict::Better);
    if let Some(first_touch) = first_touch {
        text.push_str(&format!(
            "; false by first touch: {}",
            count_text(first_touch)
        ));
    }
    match moved {
        Some(moved) => {
            text.push_str(&format!(
                ". Misses moved {moved} per operation: at each of these members, all boots with the patch lie \
                 beyond all without it"
            ));
            text.push_str(lines_move_text(metric.judged.verdict));
        }
        None if first_touch.is_some()
            && matches!(
                metric.judged.verdict,
                ChangeVerdict::Same | ChangeVerdict::Worse
            ) =>
        {
            text.push_str(". So misses moved from one member to another");
            text.push_str(lines_move_text(metric.judged.verdict));
        }
        None => {}
    }
    Some(text)
}

/// Explains a shift of misses between members, given the verdict on all transfers of the type.
fn lines_move_text(verdict: ChangeVerdict) -> &'static str {
    match verdict {
        ChangeVerdict::Better => "",
        ChangeVerdict::Same | ChangeVerdict::Worse => {
            ", and the lines still move: a profile of misses by member shows a gain that there is not"
        }
        ChangeVerdict::Unclear => "; whether fewer lines move, these boots do not tell",
    }
}

/// A change of transfers in words, with its interval.
fn count_text(metric: &JudgedMetric) -> String {
    change_text(metric, ["fewer", "more"])
}

/// A change in words, with its interval. `directions` are the words for better and worse.
fn change_text(metric: &JudgedMetric, directions: [&str; 2]) -> String {
    let interval = metric.judged.basis.interval_name();
    let [better, worse] = directions;
    let is = match metric.judged.verdict {
        ChangeVerdict::Better => better,
        ChangeVerdict::Worse => worse,
        ChangeVerdict::Same => "the same",
        ChangeVerdict::Unclear => "unclear",
    };
    let numbers = match (metric.judged.change, metric.judged.interval) {
        (Some(change), Some([low, high])) => format!(
            " ({}, {interval} {} to {})",
            signed_percent(change),
            signed_percent(low),
            signed_percent(high)
        ),
        _ => String::new(),
    };
    let within = match (metric.judged.verdict, metric.margin) {
        (ChangeVerdict::Same, Some(margin)) => format!(" within {}", percent(margin)),
        _ => String::new(),
    };
    let reasons = metric.why.iter().chain(&metric.why_no_change);
    let why: String = reasons.map(|why| format!(", {why}")).collect();
    format!("{is}{within}{numbers}{why}")
}

/// Notes on the data behind the numbers, and on their limits.
pub(crate) fn kernel_notes(contents: &KernelContents<'_>) -> Vec<String> {
    let (verified, outcome) = (contents.verification, contents.outcome());
    let samples = &verified.samples;
    let runs = samples.runs(DetailSelection::Without);
    let boots = boots_note(&runs, runs.complete_pairs());
    let mut notes = match &verified.machine {
        None => vec![format!("{boots}; yield {}", contents.yield_every)],
        Some(_) => vec![
            boots,
            "the first pair executes with the expected rules of the machine, and each other one draws all rules that \
             nobody measured; operations a second decide, and the interval is that of the draws"
                .to_owned(),
        ],
    };
    notes.extend(comparisons_note(outcome));
    if verified.changed.is_empty() {
        notes.push(
            "the patch lays out no type differently, so only all of the kernel is compared; --type counts a \
             type nevertheless"
                .to_owned(),
        );
    }
    let shown = samples.type_names();
    let silent: Vec<&str> = { verified.changed.iter() }
        .filter(|changed_type| !shown.contains(&changed_type.name))
        .map(|changed_type| &*changed_type.name)
        .collect();
    if !silent.is_empty() {
        notes.push(format!(
            "without transfers in these workloads, or with fewer than those shown: {}",
            silent.join(", ")
        ));
    }
    let limits = match &verified.machine {
        None => {
            "counted under emulation, with a small configuration: what a transfer costs, and what a processor's \
             timing makes of the rest, only hardware tells (`relayout verify` there)"
        }
        Some(_) => {
            "executed under emulation, with a small configuration: nothing of it is measured (`relayout verify` on \
             hardware does)"
        }
    };
    notes.push(limits.to_owned());
    notes.extend(verified.notes.iter().cloned());
    notes
}

#[cfg(test)]
mod tests;
