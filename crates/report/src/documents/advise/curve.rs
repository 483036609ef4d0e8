//! The document of a predicted curve.

use relayout_timed::{ContextGain, CurvePoint, PredictedCurve, RuleEffect, ThinkEffect};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Predicted throughput over today's, by the number of CPUs. A prediction, not a measurement.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CurveDocument {
    /// Name of the machine.
    pub machine: String,
    /// CPUs up to which the model was held against published gains. Points beyond are an extrapolation.
    pub published_to: u32,
    /// CPUs from which on each further one adds less than a tenth of what the first ones did, with today's layout.
    pub saturates_at: Option<u32>,
    /// Points by number of CPUs.
    pub curve: Vec<CurvePointDocument>,
    /// CPUs of `rules` and `think`.
    pub effect_cpus: u32,
    /// Rules of the model, and the ratio if one has the smallest or largest value that
    /// is possible; the most decisive first.
    pub rules: Vec<RuleEffectDocument>,
    /// Ratio by further nanoseconds of the program's own between two operations.
    pub think: Vec<ThinkEffectDocument>,
}

/// Effect of the program's own time.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ThinkEffectDocument {
    /// Nanoseconds.
    pub think_ns: f64,
    /// Throughput over today's.
    pub ratio: f64,
}

/// A point of the curve.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CurvePointDocument {
    /// CPUs.
    pub cpus: u32,
    /// Throughput over today's.
    pub ratio: f64,
    /// Lower end of the interval of 95% of the draws of what was not measured.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// True beyond the number of CPUs up to which the model was held against published gains.
    pub extrapolated: bool,
    /// Operations in a second today; null where the workload marks none.
    pub operations_per_second_today: Option<f64>,
    /// Operations in a second with the layout; null where the workload marks none.
    pub operations_per_second: Option<f64>,
    /// Fraction of their time for which CPUs, or contexts if those are more, wait for contended lines and for locks on them
    /// today.
    pub waiting_today: f64,
    /// The same with the layout.
    pub waiting: f64,
    /// The same by line today, the most first.
    pub lines_today: Vec<WaitingLineDocument>,
    /// Speed of what each recorded context does over today's; empty where the workload marks operations, and all
    /// contexts do the same, and where contexts sleep for futexes, and take turns.
    pub by_context: Vec<ContextSpeedDocument>,
}

/// Predicted speed of what one context does.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ContextSpeedDocument {
    /// Number of the context in the profile.
    pub context: u16,
    /// Speed over today's.
    pub ratio: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A line that CPUs wait for.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WaitingLineDocument {
    /// Member or variable on it that is accessed most.
    pub line: String,
    /// Fraction of their time for which CPUs, or contexts if those are more, wait for it.
    pub waiting: f64,
}

/// Effect of a rule that was not measured.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RuleEffectDocument {
    /// Rule.
    pub rule: String,
    /// True if its value was measured on the machine.
    pub measured: bool,
    /// Ratio with its smallest value.
    pub at_low: f64,
    /// Ratio with its largest value.
    pub at_high: f64,
}

impl CurvePointDocument {
    /// Returns true if the workload marks operations.
    pub(crate) fn has_marks(&self) -> bool {
        self.operations_per_second.is_some()
    }
}

impl CurveDocument {
    /// Returns the document of a curve.
    pub fn new(curve: &PredictedCurve) -> Self {
        Self {
            machine: curve.machine.clone(),
            published_to: curve.published_to,
            saturates_at: curve.saturates_at,
            curve: curve
                .points
                .iter()
                .map(|point| point_document(curve, point))
                .collect(),
            effect_cpus: curve.effect_cpus,
            rules: curve.rule_effects.iter().map(rule_document).collect(),
            think: curve.think_effects.iter().map(think_document).collect(),
        }
    }
}

fn point_document(curve: &PredictedCurve, point: &CurvePoint) -> CurvePointDocument {
    let lines = curve.waiting_lines(point).into_iter();
    CurvePointDocument {
        cpus: point.cpus,
        ratio: point.ratio,
        low: point.low,
        high: point.high,
        extrapolated: point.cpus > curve.published_to,
        operations_per_second_today: curve.has_marks.then_some(point.today_per_second),
        operations_per_second: curve.has_marks.then_some(point.changed_per_second),
        waiting_today: point.today_waiting,
        waiting: point.changed_waiting,
        lines_today: lines
            .map(|(line, waiting)| WaitingLineDocument {
                line: line.to_owned(),
                waiting,
            })
            .collect(),
        by_context: point.by_context.iter().map(speed_document).collect(),
    }
}

fn speed_document(gain: &ContextGain) -> ContextSpeedDocument {
    ContextSpeedDocument {
        context: gain.context.0,
        ratio: gain.ratio,
        low: gain.low,
        high: gain.high,
    }
}

fn think_document(effect: &ThinkEffect) -> ThinkEffectDocument {
    ThinkEffectDocument {
        think_ns: effect.think_ns,
        ratio: effect.ratio,
    }
}

fn rule_document(effect: &RuleEffect) -> RuleEffectDocument {
    RuleEffectDocument {
        rule: effect.rule.to_owned(),
        measured: effect.is_measured,
        at_low: effect.at_low,
        at_high: effect.at_high,
    }
}
