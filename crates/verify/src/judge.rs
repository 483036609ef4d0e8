//! What the starts say: better, worse, same, or not to be told.

mod compare;
mod summary;

pub use summary::Summary;

use serde::{Deserialize, Serialize};

use self::compare::{Comparison, compare};
use crate::metric::{About, Better};
use crate::plan::{ALPHA, Plan};
use crate::runs::{Runs, Series};
use crate::stats::rejected;

/// The margin unless the noise asks for more, as a fraction.
pub const MARGIN: f64 = 0.01;
/// The most that noise can make of it, as a fraction: with more, nothing is called the same.
pub const MARGIN_BY_NOISE_MAX: f64 = 0.25;

/// How to judge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// Changes up to this fraction do not matter.
    pub margin: f64,
    /// Whether the margin is widened at the end to what the experiment can tell.
    pub widen: bool,
}

impl Default for Rules {
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
pub enum Verdict {
    /// The change is there, for the better.
    Better,
    /// The change is there, for the worse.
    Worse,
    /// What change there may be is smaller than the margin.
    Same,
    /// The starts do not tell.
    Unclear,
}

impl Verdict {
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
pub enum Scale {
    /// Ratio of after to before, less 1.
    Ratio,
    /// Difference of percentages, in points of which 0.01 is one percentage point.
    Points,
    /// Difference as a fraction of the median before, for values that are not all above 0.
    Difference,
}

/// One metric, judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Name, direction, unit.
    pub about: About,
    /// The starts before.
    pub before: Summary,
    /// The starts after.
    pub after: Summary,
    /// What the fractions below are of.
    pub scale: Scale,
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
    pub verdict: Verdict,
    /// Why it is unclear.
    pub why: Option<&'static str>,
    /// Pairs without a value of this thread on one side.
    pub unmatched: usize,
}

/// All metrics, judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// In the order in which they were given, threads by name.
    pub metrics: Vec<Judged>,
    /// Worse if one is; else better if one is; else unclear if one is.
    pub verdict: Verdict,
    /// Pairs that were judged.
    pub pairs: usize,
    /// One less than this is the confidence of the intervals at this look alone.
    pub alpha: f64,
}

impl Outcome {
    /// Whether more starts can change nothing that matters.
    pub fn is_decided(&self) -> bool {
        self.metrics
            .iter()
            .all(|metric| metric.verdict != Verdict::Unclear)
    }
}

/// Judges all metrics together after the pairs there are. Only the last look widens the margin.
pub fn judge(runs: &Runs, rules: &Rules) -> Outcome {
    let series = runs.series();
    judge_series(&series, runs.plan(), runs.pairs(), rules, runs.is_last())
}

/// The same for the values alone.
pub fn judge_series(
    series: &[Series],
    plan: Plan,
    pairs: usize,
    rules: &Rules,
    is_last: bool,
) -> Outcome {
    let alpha = plan.alpha(pairs, is_last);
    let widen_for = (rules.widen && is_last).then_some(series.len());
    let comparisons: Vec<Comparison> = series
        .iter()
        .map(|series| compare(series, rules.margin, alpha, widen_for, plan.seed))
        .collect();
    // What a look spends less than all, its probabilities count for more.
    let p_values: Vec<f64> = comparisons
        .iter()
        .map(|comparison| (comparison.p_value * ALPHA / alpha).min(1.0))
        .collect();
    let rejected = rejected(&p_values, ALPHA);
    let judged = series
        .iter()
        .zip(comparisons)
        .zip(p_values.iter().zip(rejected));
    let metrics: Vec<Judged> = judged
        .map(|((series, comparison), (&p_value, rejected))| {
            comparison.judged(series, p_value, rejected)
        })
        .collect();
    Outcome {
        verdict: overall(&metrics),
        metrics,
        pairs,
        alpha,
    }
}

fn overall(metrics: &[Judged]) -> Verdict {
    let any = |verdict| metrics.iter().any(|metric| metric.verdict == verdict);
    let order = [Verdict::Worse, Verdict::Better, Verdict::Unclear];
    let found = order.into_iter().find(|&verdict| any(verdict));
    match metrics.is_empty() {
        true => Verdict::Unclear,
        false => found.unwrap_or(Verdict::Same),
    }
}

fn direction(better: Better, is_up: bool) -> Verdict {
    match (better, is_up) {
        (Better::Higher, true) | (Better::Lower, false) => Verdict::Better,
        _ => Verdict::Worse,
    }
}
