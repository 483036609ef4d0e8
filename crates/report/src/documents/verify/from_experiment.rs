//! The document of an experiment, from its starts and their judgement.

use relayout_verify::judge::{ExperimentOutcome, JudgedMetric, SideSummary};
use relayout_verify::metric::BetterDirection;
use relayout_verify::runs::{ExperimentEnding, ExperimentRuns, ExperimentSetup, StartFate};
use relayout_workflows::verify::JudgedRuns;

use super::{MetricDocument, SideDocument, StartsDocument, VerifyDocument};
use crate::Document;
use crate::documents::verify::contents::VerifyContents;
use crate::words::experiment::experiment_notes;

/// Makes the document of an experiment with programs.
pub fn verify_document(contents: &VerifyContents<'_>) -> VerifyDocument {
    let runs = contents.runs;
    let setup = &runs.setup;
    let mut notes = experiment_notes(runs, &contents.judged.outcome);
    notes.extend_from_slice(contents.notes);
    VerifyDocument {
        starts: Some(starts_document(runs)),
        before: Some(setup.before.clone()),
        after: Some(setup.after.clone()),
        cpus: Some(setup.cpus.clone()),
        fifo: Some(setup.fifo),
        notes,
        ..judged_document(setup, runs.ending, contents.judged)
    }
}

/// Makes the part of the document that programs and kernels share.
pub(crate) fn judged_document(
    setup: &ExperimentSetup,
    ending: ExperimentEnding,
    judged: &JudgedRuns,
) -> VerifyDocument {
    let outcome = &judged.outcome;
    VerifyDocument {
        schema: VerifyDocument::SCHEMA.to_owned(),
        verdict: outcome.verdict,
        metrics: metric_documents(outcome),
        details: metric_documents(&judged.details),
        comparisons: outcome.metrics.len(),
        pairs: outcome.pairs,
        pairs_planned: setup.pairs,
        ending: ending_word(ending).to_owned(),
        starts: None,
        before: None,
        after: None,
        patch: setup.patch.clone(),
        reverse: None,
        seed: setup.seed,
        yield_every: None,
        release: None,
        machine_words: None,
        kernels: None,
        types: None,
        predictions: None,
        words: None,
        cpus: None,
        fifo: None,
        notes: Vec::new(),
    }
}

fn ending_word(ending: ExperimentEnding) -> &'static str {
    match ending {
        ExperimentEnding::Complete => "complete",
        ExperimentEnding::Decided => "decided",
        ExperimentEnding::Budget => "budget",
        ExperimentEnding::CutOff => "cut-off",
    }
}

fn starts_document(runs: &ExperimentRuns) -> StartsDocument {
    let kept_disturbed = runs.count_fate(StartFate::KeptDisturbed);
    StartsDocument {
        total: runs.starts.len(),
        kept: runs.count_fate(StartFate::Kept) + kept_disturbed,
        kept_disturbed,
        disturbed: runs.count_fate(StartFate::Disturbed),
        said_disturbed: runs.count_fate(StartFate::SaidDisturbed),
        warm_up: runs.count_fate(StartFate::WarmUp),
    }
}

fn metric_documents(outcome: &ExperimentOutcome) -> Vec<MetricDocument> {
    outcome.metrics.iter().map(metric_document).collect()
}

fn metric_document(metric: &JudgedMetric) -> MetricDocument {
    let percent = |fraction: f64| 100.0 * fraction;
    MetricDocument {
        name: metric.description.name.clone(),
        unit: metric.description.unit.clone(),
        better: match metric.description.better {
            BetterDirection::Higher => "higher",
            BetterDirection::Lower => "lower",
        }
        .to_owned(),
        before: side_document(&metric.before),
        after: side_document(&metric.after),
        basis: metric.judged.basis,
        change_percent: metric.judged.change.map(percent),
        ci95_percent: metric.judged.interval.map(|ends| ends.map(percent)),
        change_is: metric.judged.scale,
        p_value: metric.p_value,
        change_why: metric.why_no_change.map(str::to_owned),
        margin_percent: metric.margin.map(percent),
        margin_reached_percent: metric.margin_reached.map(percent),
        ranges_apart: metric.before.is_apart_from(&metric.after),
        verdict: metric.judged.verdict,
        why: metric.why.map(str::to_owned),
    }
}

fn side_document(summary: &SideSummary) -> SideDocument {
    SideDocument {
        median: summary.median,
        mean: summary.mean,
        stddev_percent: summary.stddev_percent,
        min: summary.min,
        max: summary.max,
        n: summary.count,
    }
}
