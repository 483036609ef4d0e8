//! Verdicts of an experiment: better, worse, same or unclear.

mod compare;
mod drawn;
mod summary;

pub use summary::SideSummary;

use relayout_statistics::reject_hypotheses;

use self::compare::{MetricComparison, compare_series};
use self::drawn::judge_drawn;
use crate::judged_change::{ChangeBasis, ChangeVerdict, JudgedChange};
use crate::metric::{BetterDirection, MetricDescription};
use crate::plan::{ALPHA, ExperimentPlan};
use crate::runs::{ExperimentRuns, MetricSeries};

/// Default margin, as a fraction.
pub const MARGIN: f64 = 0.02;

/// Settings of a judgement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgingRules {
    /// Largest change that does not matter, as a fraction.
    pub margin: f64,
}

impl Default for JudgingRules {
    fn default() -> Self {
        Self { margin: MARGIN }
    }
}

/// Metric with its change, interval and verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedMetric {
    /// Name, direction and unit of the metric.
    pub description: MetricDescription,
    /// Summary of the side before the change.
    pub before: SideSummary,
    /// Summary of the side after the change.
    pub after: SideSummary,
    /// Change of the medians' sides. It is `None` with fewer than two pairs, or if it is not 0 and would be relative
    /// to a median of 0, or is too large for a percentage. The interval contains the true change in at least 95%
    /// of experiments, also if the experiment was judged several times.
    pub judged: JudgedChange,
    /// Probability of a change at least this large if there is no real change, corrected for the
    /// number of looks.
    pub p_value: Option<f64>,
    /// Reason why a change has no fraction, or the margin has none. The verdict stands all the
    /// same, because it compares differences in the metric's unit.
    pub why_no_change: Option<&'static str>,
    /// Largest change that does not matter, as a fraction. It is `None` if it would be relative to
    /// a median of 0.
    pub margin: Option<f64>,
    /// Smallest margin that would hold the interval, as a fraction: the starts exclude larger
    /// changes.
    pub margin_reached: Option<f64>,
    /// Reason for the verdict [`ChangeVerdict::Unclear`].
    pub why: Option<&'static str>,
    /// Number of pairs in which a side has no value of this thread.
    pub unmatched: usize,
}

/// Verdicts on all metrics of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct ExperimentOutcome {
    /// Metrics in the order of the command line; threads of one metric by name.
    pub metrics: Vec<JudgedMetric>,
    /// Verdict on the experiment: worse if a metric is worse, else better if a metric is better,
    /// else unclear if a metric is unclear, else same. Where there are rates in simulated time, only they are asked.
    pub verdict: ChangeVerdict,
    /// Number of pairs that were judged.
    pub pairs: usize,
    /// Error rate of this look alone: its intervals have the confidence 1 - `alpha`.
    pub alpha: f64,
}

impl ExperimentOutcome {
    /// Returns true if no metric that decides is unclear, so that more starts are not needed.
    pub fn is_decided(&self) -> bool {
        let mut deciding = deciding_metrics(&self.metrics);
        deciding.all(|metric| metric.judged.verdict != ChangeVerdict::Unclear)
    }
}

/// Returns the metrics that decide on an experiment: rates in simulated time where there are any, because a transfer that is
/// saved need not be one that somebody waits for; else all.
fn deciding_metrics(metrics: &[JudgedMetric]) -> impl Iterator<Item = &JudgedMetric> {
    let has_rates = metrics.iter().any(|metric| is_drawn(&metric.description));
    let decides = move |metric: &&JudgedMetric| !has_rates || is_drawn(&metric.description);
    metrics.iter().filter(decides)
}

/// Returns true for a metric whose pairs are draws of a machine's rules.
fn is_drawn(description: &MetricDescription) -> bool {
    description.basis == Some(ChangeBasis::Simulated)
}

/// Judges all metrics together, over the pairs that are complete.
pub fn judge_runs(runs: &ExperimentRuns, rules: &JudgingRules) -> ExperimentOutcome {
    let series = runs.series();
    judge_series(
        &series,
        runs.basis(),
        runs.plan(),
        runs.complete_pairs(),
        rules,
        runs.is_last(),
    )
}

/// Judges series of pairs like [`judge_runs`], without the document that holds them.
pub fn judge_series(
    series: &[MetricSeries],
    basis: ChangeBasis,
    plan: ExperimentPlan,
    pairs: usize,
    rules: &JudgingRules,
    is_last: bool,
) -> ExperimentOutcome {
    let alpha = plan.alpha(pairs, is_last);
    let is_tested = |series: &&MetricSeries| !is_drawn(&series.description);
    let comparisons: Vec<MetricComparison> = { series.iter().filter(is_tested) }
        .map(|series| compare_series(series, rules.margin, alpha, plan.seed))
        .collect();
    // A look that spends less than ALPHA needs proportionally smaller p-values.
    let p_values: Vec<f64> = comparisons
        .iter()
        .map(|comparison| (comparison.p_value * ALPHA / alpha).min(1.0))
        .collect();
    let rejected = reject_hypotheses(&p_values, ALPHA);
    let mut tested = comparisons
        .into_iter()
        .zip(p_values.into_iter().zip(rejected));
    let metrics: Vec<JudgedMetric> = { series.iter() }
        .filter_map(|series| match is_drawn(&series.description) {
            true => Some(judge_drawn(series, rules.margin)),
            false => tested.next().map(|(comparison, (p_value, rejected))| {
                comparison.into_judged(series, basis, p_value, rejected)
            }),
        })
        .collect();
    ExperimentOutcome {
        verdict: overall_verdict(&metrics),
        metrics,
        pairs,
        alpha,
    }
}

fn overall_verdict(metrics: &[JudgedMetric]) -> ChangeVerdict {
    let any = |verdict| {
        let mut deciding = deciding_metrics(metrics);
        deciding.any(|metric| metric.judged.verdict == verdict)
    };
    let order = [
        ChangeVerdict::Worse,
        ChangeVerdict::Better,
        ChangeVerdict::Unclear,
    ];
    let found = order.into_iter().find(|&verdict| any(verdict));
    match metrics.is_empty() {
        true => ChangeVerdict::Unclear,
        false => found.unwrap_or(ChangeVerdict::Same),
    }
}

fn verdict_of_direction(better: BetterDirection, is_up: bool) -> ChangeVerdict {
    match (better, is_up) {
        (BetterDirection::Higher, true) | (BetterDirection::Lower, false) => ChangeVerdict::Better,
        _ => ChangeVerdict::Worse,
    }
}
