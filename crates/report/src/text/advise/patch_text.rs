//! Text about the patches of a run.

use std::fmt::Write as _;

use crate::documents::advise::candidate::CandidateDocument;
use crate::documents::advise::patch::WrittenPatchDocument;
use crate::documents::advise::{AdvisedTypeDocument, TypeDocument};
use crate::text::advise::AdviceTextOptions;
use crate::words::wrap::wrap_text;

/// Appends the patch of a type, or the reason why there is none.
pub(crate) fn push_patch_section(
    text: &mut String,
    type_document: &TypeDocument,
    options: &AdviceTextOptions,
) {
    let TypeDocument::Advised(advised) = type_document else {
        return;
    };
    match (&advised.written_patch, &advised.patch_refused) {
        (Some(written), _) => {
            if let Some(layout) = advised.patched_layout() {
                push_patch(text, advised, written, layout, options);
            }
        }
        (None, Some(reason)) => {
            let _ = writeln!(text, "{}\n", wrap_text(&format!("No patch: {reason}."), 2));
        }
        (None, None) => text.push_str("No patch: no layout is recommended.\n\n"),
    }
}

fn push_patch(
    text: &mut String,
    advised: &AdvisedTypeDocument,
    written: &WrittenPatchDocument,
    layout: &CandidateDocument,
    options: &AdviceTextOptions,
) {
    if let Some(explanation) = &written.instead {
        let _ = writeln!(text, "{}", wrap_text(explanation, 0));
    }
    let file = match &options.patch_file {
        Some(path) if !written.bad => format!(" It is in {}.", path.display()),
        _ => String::new(),
    };
    let line = format!("Patch: {}.{file}", layout.edit);
    let _ = writeln!(text, "{}", wrap_text(&line, 2));
    if let Some(sentence) = &written.reach {
        let _ = writeln!(text, "{}", wrap_text(sentence, 0));
    }
    for compiled in advised.compiled.iter().flatten() {
        let _ = writeln!(text, "{}", wrap_text(&compiled.sentence, 2));
    }
    if written.bad {
        text.push_str("The patch is not good as it is.");
        if let Some(path) = &options.rejected_file {
            let _ = write!(text, " It is in {}.", path.display());
        }
        text.push('\n');
    }
    match &layout.patch {
        Some(diff) if options.diffs => text.extend(["\n", diff, "\n"]),
        _ => text.push('\n'),
    }
}
