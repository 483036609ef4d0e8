//! What the starts say: better, worse, same, or not to be told.

mod compare;
mod summary;

pub use summary::SideSummary;

use serde::{Deserialize, Serialize};

use self::compare::{MetricComparison, compare_series};
use crate::metric::{BetterDirection, MetricDescription};
use crate::plan::{ALPHA, ExperimentPlan};
use crate::runs::{ExperimentRuns, MetricSeries};
use relayout_statistics::reject_hypotheses;

/// The margin unless the noise asks for more, as a fraction.
pub const MARGIN: f64 = 0.01;
/// The most that noise can make of it, as a fraction: with more, nothing is called the same.
pub const MARGIN_BY_NOISE_MAX: f64 = 0.25;

/// How to judge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgingRules {
    /// Changes up to this fraction do not matter.
    pub margin: f64,
    /// Whether the margin is widened at the end to what the experiment can tell.
    pub widen: bool,
}

impl Default for JudgingRules {
    fn default() -> Self {
        Self {
            margin: MARGIN,
            widen: true,
        }
    }
}

/// The answer for one metric, or for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeVerdict {
    /// The change is there, for the better.
    Better,
    /// The change is there, for the worse.
    Worse,
    /// What change there may be is smaller than the margin.
    Same,
    /// The starts do not tell.
    Unclear,
}

impl ChangeVerdict {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same => "same",
            Self::Unclear => "unclear",
        }
    }
}

/// In which numbers a change is expressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeScale {
    /// Ratio of after to before, less 1.
    Ratio,
    /// Difference of percentages, in points of which 0.01 is one percentage point.
    Points,
    /// Difference as a fraction of the median before, for values that are not all above 0.
    Difference,
}

/// One metric, judged.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedMetric {
    /// Name, direction, unit.
    pub description: MetricDescription,
    /// The starts before.
    pub before: SideSummary,
    /// The starts after.
    pub after: SideSummary,
    /// What the fractions below are of.
    pub scale: ChangeScale,
    /// Change from before to after, as a fraction; `None` for lack of pairs, or of something to
    /// compare with (a median of 0 before).
    pub change: Option<f64>,
    /// Interval that holds the true change in at least 95 of 100 experiments, however often
    /// they were looked at; as fractions.
    pub interval: Option<[f64; 2]>,
    /// How probable so large a change is if there is none, corrected for the looks.
    pub p_value: Option<f64>,
    /// Changes up to this fraction do not matter, or cannot be told from noise.
    pub margin: f64,
    /// Whether the margin is the noise's, not the given one.
    pub margin_is_noise: bool,
    /// The answer.
    pub verdict: ChangeVerdict,
    /// Why it is unclear.
    pub why: Option<&'static str>,
    /// Pairs without a value of this thread on one side.
    pub unmatched: usize,
}

/// All metrics, judged.
#[derive(Clone, Debug, PartialEq)]
pub struct ExperimentOutcome {
    /// In the order in which they were given, threads by name.
    pub metrics: Vec<JudgedMetric>,
    /// Worse if one is; else better if one is; else unclear if one is.
    pub verdict: ChangeVerdict,
    /// Pairs that were judged.
    pub pairs: usize,
    /// One less than this is the confidence of the intervals at this look alone.
    pub alpha: f64,
}

impl ExperimentOutcome {
    /// Whether more starts can change nothing that matters.
    pub fn is_decided(&self) -> bool {
        self.metrics
            .iter()
            .all(|metric| metric.verdict != ChangeVerdict::Unclear)
    }
}

/// Judges all metrics together after the pairs there are. Only the last look widens the margin.
pub fn judge_runs(runs: &ExperimentRuns, rules: &JudgingRules) -> ExperimentOutcome {
    let series = runs.series();
    judge_series(
        &series,
        runs.plan(),
        runs.complete_pairs(),
        rules,
        runs.is_last(),
    )
}

/// The same for the values alone.
pub fn judge_series(
    series: &[MetricSeries],
    plan: ExperimentPlan,
    pairs: usize,
    rules: &JudgingRules,
    is_last: bool,
) -> ExperimentOutcome {
    let alpha = plan.alpha(pairs, is_last);
    let widen_for = (rules.widen && is_last).then_some(series.len());
    let comparisons: Vec<MetricComparison> = series
        .iter()
        .map(|series| compare_series(series, rules.margin, alpha, widen_for, plan.seed))
        .collect();
    // What a look spends less than all, its probabilities count for more.
    let p_values: Vec<f64> = comparisons
        .iter()
        .map(|comparison| (comparison.p_value * ALPHA / alpha).min(1.0))
        .collect();
    let rejected = reject_hypotheses(&p_values, ALPHA);
    let judged = series
        .iter()
        .zip(comparisons)
        .zip(p_values.iter().zip(rejected));
    let metrics: Vec<JudgedMetric> = judged
        .map(|((series, comparison), (&p_value, rejected))| {
            comparison.into_judged(series, p_value, rejected)
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
    let any = |verdict| metrics.iter().any(|metric| metric.verdict == verdict);
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
