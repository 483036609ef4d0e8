//! The patch of a type.

use relayout_session::advise::{PatchOutcome, PatchedType, WrittenPatch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::advice::review::instead_transfers;

/// A patch that was written. Its diff is that of the layout that it makes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WrittenPatchDocument {
    /// First of the edited files, relative to the top of the tree.
    pub path: String,
    /// True if it guards stores (`check`).
    pub guarded: bool,
    /// True if a compile test failed.
    pub bad: bool,
    /// Configurations in which it changes the layout, as a sentence; null where it does in all.
    pub reach: Option<String>,
    /// The reason for which it does not make the recommended layout, as a sentence.
    pub instead: Option<String>,
}

/// Returns the document of a type's patch; `None` without one.
pub(super) fn written_patch_document(patched: &PatchedType<'_>) -> Option<WrittenPatchDocument> {
    let Some(PatchOutcome::Diff(written)) = &patched.patch else {
        return None;
    };
    let edited = &written.edited;
    Some(WrittenPatchDocument {
        path: edited.paths.first().cloned().unwrap_or_default(),
        guarded: edited.is_guarded,
        bad: written.is_bad(),
        reach: edited.reach.sentence().map(str::to_owned),
        instead: instead_sentence(patched, written),
    })
}

fn instead_sentence(patched: &PatchedType<'_>, written: &WrittenPatch) -> Option<String> {
    let reason = written.instead_reason.as_ref()?;
    let transfers = instead_transfers(patched, written.edited.candidate(&patched.advised)?);
    Some(format!(
        "The recommended layout is not written as a patch: {reason}. This one is, with {transfers}."
    ))
}
