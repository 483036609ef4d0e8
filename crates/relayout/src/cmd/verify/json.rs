//! What was measured as JSON, schema `relayout/verify/1`.

use relayout_verify::judge::{ChangeScale, ExperimentOutcome, JudgedMetric, SideSummary};
use relayout_verify::runs::StartFate;
use serde_json::{Value, json};

use super::{MeasuredRuns, text};

/// The whole document.
pub(super) fn render(
    measured: &MeasuredRuns,
    outcome: &ExperimentOutcome,
    details: &ExperimentOutcome,
) -> serde_json::Result<String> {
    let runs = &measured.runs;
    let setup = &runs.setup;
    let metrics = |outcome: &ExperimentOutcome| {
        outcome
            .metrics
            .iter()
            .map(metric_json)
            .collect::<Vec<Value>>()
    };
    let document = json!({
        "schema": "relayout/verify/1",
        "verdict": outcome.verdict.as_str(),
        "metrics": metrics(outcome),
        "details": metrics(details),
        "comparisons": outcome.metrics.len(),
        "pairs": outcome.pairs,
        "pairs_planned": setup.pairs,
        "ending": runs.ending,
        "starts": {
            "total": runs.starts.len(),
            "kept": runs.count_fate(StartFate::Kept) + runs.count_fate(StartFate::KeptDisturbed),
            "kept_disturbed": runs.count_fate(StartFate::KeptDisturbed),
            "disturbed": runs.count_fate(StartFate::Disturbed),
            "said_disturbed": runs.count_fate(StartFate::SaidDisturbed),
            "warm_up": runs.count_fate(StartFate::WarmUp),
        },
        "before": setup.before,
        "after": setup.after,
        "patch": setup.patch,
        "seed": setup.seed,
        "cpus": setup.cpus,
        "fifo": setup.fifo,
        "notes": text::notes(runs, outcome).into_iter().chain(measured.notes.clone()).collect::<Vec<_>>(),
    });
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

pub(super) fn metric_json(metric: &JudgedMetric) -> Value {
    let percent = |fraction: f64| 100.0 * fraction;
    json!({
        "name": metric.description.name,
        "unit": metric.description.unit,
        "better": metric.description.better,
        "before": summary_json(&metric.before),
        "after": summary_json(&metric.after),
        "change_percent": metric.change.map(percent),
        "ci95_percent": metric.interval.map(|ends| ends.map(percent)),
        "change_is": match metric.scale {
            ChangeScale::Ratio => "ratio",
            ChangeScale::Points => "points",
            ChangeScale::Difference => "difference",
        },
        "p_value": metric.p_value,
        "margin_percent": percent(metric.margin),
        "margin_from": if metric.margin_is_noise { "noise" } else { "given" },
        "ranges_apart": metric.before.is_apart_from(&metric.after),
        "verdict": metric.verdict.as_str(),
        "why": metric.why,
    })
}

fn summary_json(summary: &SideSummary) -> Value {
    json!({
        "median": summary.median,
        "mean": summary.mean,
        "stddev_percent": summary.stddev_percent,
        "min": summary.min,
        "max": summary.max,
        "n": summary.count,
    })
}
