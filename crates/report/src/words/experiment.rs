//! Notes on an experiment with programs, which its text and its document share.

use relayout_verify::judge::{ExperimentOutcome, JudgedMetric};
use relayout_verify::judged_change::{ChangeBasis, ChangeScale, ChangeVerdict};
use relayout_verify::runs::{ExperimentEnding, ExperimentRuns, StartFate};

use super::percent::fraction_words;

/// Notes on the data behind the verdict, and on its limits.
pub(crate) fn experiment_notes(runs: &ExperimentRuns, outcome: &ExperimentOutcome) -> Vec<String> {
    let mut notes = Vec::new();
    if runs.setup.are_boots {
        notes.push(boots_note(runs, outcome.pairs));
    } else {
        notes.push(starts_note(runs, outcome));
        notes.extend(disturbed_note(runs));
        notes.extend(said_disturbed_note(runs));
    }
    notes.extend(comparisons_note(outcome));
    notes.extend(outcome.metrics.iter().filter_map(metric_note));
    if runs.setup.cpus.len() == 1 {
        notes.push(
            "one CPU only: threads take turns there, so what sharing between CPUs costs, and what a \
             change of it saves, cannot be seen"
                .to_owned(),
        );
    }
    notes.extend(short_starts_note(runs));
    notes
}

/// Note on judging several metrics at once.
pub(crate) fn comparisons_note(outcome: &ExperimentOutcome) -> Option<String> {
    // Draws of a machine's rules are not tested.
    let is_tested = |metric: &&JudgedMetric| metric.judged.basis != ChangeBasis::Simulated;
    let comparisons = outcome.metrics.iter().filter(is_tested).count();
    (comparisons > 1).then(|| {
        format!("{comparisons} comparisons, false discovery rate at most 5% (Benjamini-Hochberg)")
    })
}

/// Note on the number of pairs of boots.
pub(crate) fn boots_note(runs: &ExperimentRuns, pairs: usize) -> String {
    format!(
        "{pairs} pairs of boots{} for each workload and number of CPUs, in random order, seed {}",
        ending_text(runs),
        runs.setup.seed
    )
}

fn ending_text(runs: &ExperimentRuns) -> String {
    let planned = runs.setup.pairs;
    match runs.ending {
        ExperimentEnding::Complete => String::new(),
        ExperimentEnding::Decided => format!(" (of up to {planned}: it was decided)"),
        ExperimentEnding::Budget => format!(" (of {planned}: the time was up)"),
        ExperimentEnding::CutOff => format!(" (of {planned}: it was cut off)"),
    }
}

fn starts_note(runs: &ExperimentRuns, outcome: &ExperimentOutcome) -> String {
    let setup = &runs.setup;
    let why = ending_text(runs);
    let cpus: Vec<String> = setup.cpus.iter().map(ToString::to_string).collect();
    format!(
        "{} pairs of starts{why} in random order, seed {}; CPUs {}{}; warm-ups discarded: {}",
        outcome.pairs,
        setup.seed,
        cpus.join(","),
        if setup.fifo { ", SCHED_FIFO" } else { "" },
        runs.count_fate(StartFate::WarmUp),
    )
}

fn disturbed_note(runs: &ExperimentRuns) -> Option<String> {
    let discarded = runs.count_fate(StartFate::Disturbed);
    let kept = runs.count_fate(StartFate::KeptDisturbed);
    let percent = fraction_words(runs.setup.lost_max, false);
    if runs.starts.iter().all(|start| start.lost.is_none()) {
        let why = "this system does not tell how long it ran others (/proc/stat): no start was discarded \
                   for that";
        return Some(why.to_owned());
    }
    let total = runs.starts.len() - runs.count_fate(StartFate::WarmUp);
    let mut text = format!(
        "discarded {discarded} of {total} starts: the machine ran others for more than {percent} of the \
         time that they wanted"
    );
    if kept > 0 {
        text.push_str(&format!(
            "; {kept} such starts are kept, for there were no better ones"
        ));
    }
    (discarded + kept > 0).then_some(text)
}

fn said_disturbed_note(runs: &ExperimentRuns) -> Option<String> {
    let code = runs.setup.disturbed_code?;
    let discarded = runs.count_fate(StartFate::SaidDisturbed);
    let total = runs.starts.len() - runs.count_fate(StartFate::WarmUp);
    (discarded > 0).then(|| {
        format!(
            "discarded {discarded} of {total} starts: they said themselves, by exit code {code}, that they \
             were disturbed"
        )
    })
}

fn metric_note(metric: &JudgedMetric) -> Option<String> {
    let name = &metric.description.name;
    let is_points = metric.judged.scale == ChangeScale::Points;
    let mut parts = Vec::new();
    if let Some(why) = metric.why {
        parts.push(why.to_owned());
    }
    parts.extend(metric.why_no_change.map(str::to_owned));
    let margins = metric.margin.zip(metric.margin_reached);
    if let (ChangeVerdict::Unclear, Some((margin, reached))) = (metric.judged.verdict, margins) {
        let [margin, reached] = [margin, reached].map(|margin| fraction_words(margin, is_points));
        parts.push(format!(
            "the margin is {margin}, and the interval reaches {reached}"
        ));
    }
    if metric.unmatched > 0 {
        parts.push(format!("in {} pairs one side lacks it", metric.unmatched));
    }
    (!parts.is_empty()).then(|| format!("{name}: {}", parts.join("; ")))
}

/// A program that ends at once is mostly its own start.
fn short_starts_note(runs: &ExperimentRuns) -> Option<String> {
    const SHORT_S: f64 = 0.01;
    let is_timed = runs
        .metrics
        .iter()
        .any(|about| about.name == "wall" || about.name == "cpu");
    let kept = runs.starts.iter().filter(|start| start.fate.counts());
    let longest_s = kept.map(|start| start.wall_s).fold(0.0, f64::max);
    (is_timed && longest_s < SHORT_S && longest_s > 0.0).then(|| {
        format!(
            "no start takes longer than {:.1} ms: mostly how a process begins and ends is measured",
            1000.0 * longest_s
        )
    })
}
