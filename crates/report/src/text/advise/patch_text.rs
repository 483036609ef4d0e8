//! Text about the patches of a run.

use std::fmt::Write as _;

use relayout_advice::ResolvedProfile;
use relayout_session::advise::{CompileTest, PatchOutcome, PatchedType, WrittenPatch};

use crate::text::advise::AdviceTextOptions;
use crate::words::advice::review::instead_transfers;
use crate::words::advice::{PoolView, change_words};
use crate::words::wrap::wrap_text;

/// Appends the patch of a type, or the reason why there is none.
pub(crate) fn push_patch_section(
    text: &mut String,
    resolved: &ResolvedProfile<'_>,
    patched: &PatchedType<'_>,
    options: &AdviceTextOptions,
) {
    let advised = &patched.advised;
    match &patched.patch {
        Some(PatchOutcome::Refused(reason)) => {
            let _ = writeln!(text, "{}\n", wrap_text(&format!("No patch: {reason}."), 2));
        }
        Some(PatchOutcome::Diff(written)) => {
            push_patch(text, resolved, patched, written, options);
        }
        None if advised.searched.outcome.is_err() => {}
        None => text.push_str("No patch: no layout is recommended.\n\n"),
    }
}

fn push_patch(
    text: &mut String,
    resolved: &ResolvedProfile<'_>,
    patched: &PatchedType<'_>,
    written: &WrittenPatch,
    options: &AdviceTextOptions,
) {
    let (advised, edited) = (&patched.advised, &written.edited);
    let (Some(pool), Some(candidate)) = (edited.pool(advised), edited.candidate(advised)) else {
        return;
    };
    let view = PoolView {
        resolved,
        gathered: &advised.searched.gathered,
        pool,
    };
    if let Some(reason) = &written.instead_reason {
        let transfers = instead_transfers(patched, candidate);
        let explanation = format!(
            "The recommended layout is not written as a patch: {reason}. This one is, with {transfers}."
        );
        let _ = writeln!(text, "{}", wrap_text(&explanation, 0));
    }
    let file = match &options.patch_file {
        Some(path) if !written.is_bad() => format!(" It is in {}.", path.display()),
        _ => String::new(),
    };
    let line = format!("Patch: {}.{file}", change_words(&view, candidate));
    let _ = writeln!(text, "{}", wrap_text(&line, 2));
    if let Some(sentence) = edited.reach.sentence() {
        let _ = writeln!(text, "{}", wrap_text(sentence, 0));
    }
    for sentence in written.compile_tests.iter().map(CompileTest::sentence) {
        let _ = writeln!(text, "{}", wrap_text(&sentence, 2));
    }
    if written.is_bad() {
        text.push_str("The patch is not good as it is.");
        if let Some(path) = &options.rejected_file {
            let _ = write!(text, " It is in {}.", path.display());
        }
        text.push('\n');
    }
    match options.diffs {
        true => text.extend(["\n", &edited.diff, "\n"]),
        false => text.push('\n'),
    }
}
