//! A judged change in documents.

use relayout_verify::judged_change::JudgedChange;
use schemars::JsonSchema;
use serde::Serialize;

/// Change of a number, judged.
#[derive(Serialize, JsonSchema)]
pub(crate) struct JudgedChangeDocument {
    /// Origin of both numbers: `measured` on hardware, `simulated`, `counted` in recordings, or `replayed`.
    basis: &'static str,
    /// Number before the change.
    before: f64,
    /// Number after the change.
    after: f64,
    /// Change in percent; null if it cannot be told. Of pairs, it is the change within pairs.
    change_percent: Option<f64>,
    /// 95% interval of the change in percent; null if it cannot be told.
    ci95_percent: Option<[f64; 2]>,
    /// Unit of the change: `ratio`, `points` or `difference`.
    change_is: &'static str,
    /// `better`, `worse`, `same` or `unclear`.
    verdict: &'static str,
}

impl JudgedChangeDocument {
    pub(crate) fn new(judged: &JudgedChange) -> Self {
        let percent = |fraction: f64| 100.0 * fraction;
        Self {
            basis: judged.basis.as_str(),
            before: judged.before,
            after: judged.after,
            change_percent: judged.change.map(percent),
            ci95_percent: judged.interval.map(|ends| ends.map(percent)),
            change_is: judged.scale.as_str(),
            verdict: judged.verdict.as_str(),
        }
    }
}
