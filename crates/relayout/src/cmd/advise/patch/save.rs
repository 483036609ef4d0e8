//! Patches, as files.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use relayout_host::Progress as _;
use relayout_patch::Mail;

use super::super::text::message::message;
use super::super::{Args, TypeAdvice, uses};
use super::{Outcome, Written};
use crate::input::Input;

/// What was written to files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saved {
    /// Nothing: there is no patch.
    Nothing,
    /// All patches.
    Patches,
    /// Patches that are bad, to a file of their own; the others, if any.
    SomeBad,
}

/// Writes the patches to a file, each with its message, as a mail that `git am` takes. Those that do not compile
/// go to FILE.rejected.
pub fn save(
    input: &Input<'_>,
    all: &[TypeAdvice<'_>],
    patches: &[Option<Outcome>],
    args: &Args,
    file: &Path,
) -> anyhow::Result<Saved> {
    let author = args.source.as_deref().and_then(relayout_host::git_author);
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for (one, patch) in all.iter().zip(patches) {
        if let Some(Outcome::Diff(written)) = patch
            && let Some(mail) = mail(input, one, written, args.top, author.as_deref())
        {
            match written.is_bad() {
                true => bad.push(mail),
                false => good.push(mail),
            }
        }
    }
    if author.is_none() && !good.is_empty() {
        input.progress.warn(
            "git knows no author here: the patch is from \"Your Name <you@example.org>\"; git config \
             user.name and user.email",
        );
    }
    write_mails(&good, file)?;
    write_mails(&bad, &rejected(file))?;
    for (one, patch) in all.iter().zip(patches) {
        if let (Some(Outcome::Diff(_)), Some(source)) = (patch, &args.source) {
            warn_of_uses(input, &one.name, source);
        }
    }
    Ok(match (good.is_empty(), bad.is_empty()) {
        (true, true) => Saved::Nothing,
        (_, true) => Saved::Patches,
        (_, false) => Saved::SomeBad,
    })
}

fn warn_of_uses(input: &Input<'_>, name: &str, source: &Path) {
    let step = format!("looking for code that counts on the order of struct {name}");
    input.progress.step(&step);
    for sentence in uses::sentences(source, name) {
        input.progress.warn(&sentence);
    }
}

/// Where patches go that are bad.
pub fn rejected(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".rejected");
    name.into()
}

fn write_mails(mails: &[Mail], file: &Path) -> anyhow::Result<()> {
    if mails.is_empty() {
        return Ok(());
    }
    let texts = mails.iter().enumerate();
    let text: String = texts
        .map(|(nth, mail)| mail.text(nth + 1, mails.len()))
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

fn mail(
    input: &Input<'_>,
    one: &TypeAdvice<'_>,
    written: &Written,
    top: usize,
    author: Option<&str>,
) -> Option<Mail> {
    let message = message(input, one, written, top)?;
    Some(Mail {
        author: author.unwrap_or("Your Name <you@example.org>").to_owned(),
        subject: message.subject,
        body: message.body,
        diff: written.diff.clone(),
        signature: concat!("relayout ", env!("CARGO_PKG_VERSION")).to_owned(),
    })
}
