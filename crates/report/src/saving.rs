//! What a layout can save of a finding's type, as data of a document and in words.

use relayout_contend::{Finding, Findings};
use relayout_session::{TypeJudgements, deciding_type, finding_saving};
use schemars::JsonSchema;
use serde::Serialize;

use crate::words::counted;

/// Words where no layout of the type was searched.
const NOT_SEARCHED: &str = "not searched";
/// Words where there is nothing to move.
const NO_MEMBERS: &str = "no members to move";

/// What a layout of the finding's type, or of a struct in it, can save.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SavingDocument {
    /// Name of the type whose layout it is.
    #[serde(rename = "type")]
    type_name: String,
    /// Transfers that the recommended layout saves, of all findings of the type.
    transfers: f64,
    /// The same as a fraction of all transfers.
    share: f64,
    /// Change of the transfers on the type: -0.33.
    change: f64,
    /// Members that move.
    moved: usize,
}

/// Returns the saving of a finding, or the reason why there is none.
pub(crate) fn saving_document(
    finding: &Finding,
    findings: &Findings,
    judgements: Option<&TypeJudgements>,
) -> Result<SavingDocument, String> {
    let none = TypeJudgements::new();
    let judgements = judgements.unwrap_or(&none);
    if let Some(saving) = finding_saving(finding, findings, judgements) {
        return Ok(SavingDocument {
            type_name: saving.type_name,
            transfers: saving.transfers,
            share: saving.share,
            change: saving.change,
            moved: saving.moved,
        });
    }
    let Some(name) = deciding_type(finding, judgements) else {
        return Err(NO_MEMBERS.to_owned());
    };
    let judgement = judgements.get(name);
    Err(judgement.map_or(NOT_SEARCHED.to_owned(), |judgement| {
        judgement.reason.clone()
    }))
}

/// Returns a sentence about the saving; `None` where there are no members to move, and in reports
/// that do not speak of it.
pub(crate) fn saving_sentence(
    finding: &Finding,
    findings: &Findings,
    judgements: Option<&TypeJudgements>,
) -> Option<String> {
    let judgements = judgements?;
    let name = deciding_type(finding, judgements)?;
    let Some(judgement) = judgements.get(name) else {
        return Some(format!(
            "Saving by another layout of {name}: {NOT_SEARCHED}."
        ));
    };
    let effort = match judgement.is_thorough {
        true => "",
        false => " (quick search)",
    };
    match saving_document(finding, findings, Some(judgements)) {
        Ok(saving) => Some(format!(
            "Saving by another layout of {name}: {:.1}% of the transfers on it, with {} moved{effort}.",
            -saving.change * 100.0,
            counted(saving.moved as u64, "member"),
        )),
        Err(reason) => Some(format!(
            "Saving by another layout of {name}: none, {reason}{effort}."
        )),
    }
}

/// Returns `-33.1%`, `none`, `not searched`, or nothing where there are no members to move.
pub(crate) fn saving_cell(
    finding: &Finding,
    findings: &Findings,
    judgements: Option<&TypeJudgements>,
) -> String {
    match saving_document(finding, findings, judgements) {
        Ok(saving) => format!("{:+.1}%", saving.change * 100.0),
        Err(reason) if reason == NOT_SEARCHED => reason,
        Err(reason) if reason == NO_MEMBERS => "-".to_owned(),
        Err(_) => "none".to_owned(),
    }
}
