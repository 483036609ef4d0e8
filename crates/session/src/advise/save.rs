//! Patches and scripts as files.

use std::path::{Path, PathBuf};

use relayout_files::{write_atomically, write_program_atomically};
use relayout_patch::PatchMail;

use relayout_messages::UserError;

/// Script that measures a patch on hardware.
pub const HARDWARE_SCRIPT: &str = include_str!("hardware-ab.sh");

/// Returns the path for patches that failed a compile test: `FILE.rejected`.
pub fn rejected_path(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".rejected");
    name.into()
}

/// Writes the mails to a file that `git am` takes; no file without mails.
///
/// # Errors
/// The file cannot be written.
pub fn write_mails(file: &Path, mails: &[PatchMail]) -> Result<(), UserError> {
    if mails.is_empty() {
        return Ok(());
    }
    let text: String = mails
        .iter()
        .enumerate()
        .map(|(index, mail)| mail.to_text(index + 1, mails.len()))
        .collect();
    Ok(write_atomically(file, text.as_bytes())?)
}

/// Writes [`HARDWARE_SCRIPT`] as an executable file.
///
/// # Errors
/// The file cannot be written.
pub fn write_hardware_script(file: &Path) -> Result<(), UserError> {
    Ok(write_program_atomically(file, HARDWARE_SCRIPT.as_bytes())?)
}
