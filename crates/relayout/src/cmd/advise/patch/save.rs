//! Patches, as files.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use relayout_host::RecordingProgress as _;
use relayout_patch::PatchMail;

use super::super::text::message::patch_message;
use super::super::{Args, TypeAdvice, uses};
use super::{PatchOutcome, WrittenPatch};
use crate::resolved::ResolvedProfile;

/// What was written to files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SavedPatches {
    /// Nothing: there is no patch.
    Nothing,
    /// All patches.
    Patches,
    /// Patches that are bad, to a file of their own; the others, if any.
    SomeBad,
}

/// Writes the patches to a file, each with its message, as a mail that `git am` takes. Those that do not compile
/// go to FILE.rejected.
pub fn save_patches(
    input: &ResolvedProfile<'_>,
    advised: &[TypeAdvice<'_>],
    patches: &[Option<PatchOutcome>],
    args: &Args,
    file: &Path,
) -> anyhow::Result<SavedPatches> {
    let author = args.source.as_deref().and_then(relayout_host::git_author);
    let (mut good_mails, mut bad_mails) = (Vec::new(), Vec::new());
    for (type_advice, patch) in advised.iter().zip(patches) {
        if let Some(PatchOutcome::Diff(written_patch)) = patch
            && let Some(mail) = patch_mail(
                input,
                type_advice,
                written_patch,
                args.top,
                author.as_deref(),
            )
        {
            match written_patch.is_bad() {
                true => bad_mails.push(mail),
                false => good_mails.push(mail),
            }
        }
    }
    if author.is_none() && !good_mails.is_empty() {
        input.progress.warn(
            "git knows no author here: the patch is from \"Your Name <you@example.org>\"; git config \
             user.name and user.email",
        );
    }
    write_mails(&good_mails, file)?;
    write_mails(&bad_mails, &rejected_path(file))?;
    for (type_advice, patch) in advised.iter().zip(patches) {
        if let (Some(PatchOutcome::Diff(_)), Some(source)) = (patch, &args.source) {
            warn_of_order_uses(input, &type_advice.name, source);
        }
    }
    Ok(match (good_mails.is_empty(), bad_mails.is_empty()) {
        (true, true) => SavedPatches::Nothing,
        (_, true) => SavedPatches::Patches,
        (_, false) => SavedPatches::SomeBad,
    })
}

fn warn_of_order_uses(input: &ResolvedProfile<'_>, name: &str, source: &Path) {
    let step = format!("looking for code that counts on the order of struct {name}");
    input.progress.step(&step);
    for sentence in uses::order_use_sentences(source, name) {
        input.progress.warn(&sentence);
    }
}

/// Where patches go that are bad.
pub fn rejected_path(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".rejected");
    name.into()
}

fn write_mails(mails: &[PatchMail], file: &Path) -> anyhow::Result<()> {
    if mails.is_empty() {
        return Ok(());
    }
    let texts = mails.iter().enumerate();
    let text: String = texts
        .map(|(nth, mail)| mail.to_text(nth + 1, mails.len()))
        .collect();
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

/// Measures a patch where there is hardware for it.
const SCRIPT: &str = include_str!("../hardware-ab.sh");

/// Writes [`SCRIPT`], for its owner to run.
pub fn save_script(file: &Path) -> anyhow::Result<()> {
    let write = || {
        std::fs::write(file, SCRIPT)?;
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755))
    };
    write().with_context(|| format!("cannot write {}", file.display()))
}

fn patch_mail(
    input: &ResolvedProfile<'_>,
    type_advice: &TypeAdvice<'_>,
    written: &WrittenPatch,
    top: usize,
    author: Option<&str>,
) -> Option<PatchMail> {
    let message = patch_message(input, type_advice, written, top)?;
    Some(PatchMail {
        author: author.unwrap_or("Your Name <you@example.org>").to_owned(),
        subject: message.subject,
        body: message.body,
        diff: written.diff.clone(),
        signature: concat!("relayout ", env!("CARGO_PKG_VERSION")).to_owned(),
    })
}
