//! A judged change in documents.

use relayout_verify::judged_change::{ChangeBasis, ChangeScale, ChangeVerdict, JudgedChange};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Change of a number, judged.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct JudgedChangeDocument {
    /// Origin of both numbers: `measured` on hardware, `simulated`, `counted` in recordings, or `replayed`.
    #[schemars(with = "String")]
    pub(crate) basis: ChangeBasis,
    /// Number before the change.
    pub(crate) before: f64,
    /// Number after the change.
    pub(crate) after: f64,
    /// Change in percent; null if it cannot be told. Of pairs, it is the change within pairs.
    pub(crate) change_percent: Option<f64>,
    /// 95% interval of the change in percent; null if it cannot be told.
    pub(crate) ci95_percent: Option<[f64; 2]>,
    /// Unit of the change: `ratio`, `points` or `difference`.
    #[schemars(with = "String")]
    pub(crate) change_is: ChangeScale,
    /// `better`, `worse`, `same` or `unclear`.
    #[schemars(with = "String")]
    pub(crate) verdict: ChangeVerdict,
}

impl JudgedChangeDocument {
    pub(crate) fn new(judged: &JudgedChange) -> Self {
        let percent = |fraction: f64| 100.0 * fraction;
        Self {
            basis: judged.basis,
            before: judged.before,
            after: judged.after,
            change_percent: judged.change.map(percent),
            ci95_percent: judged.interval.map(|ends| ends.map(percent)),
            change_is: judged.scale,
            verdict: judged.verdict,
        }
    }
}
