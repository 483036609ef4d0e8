//! Patches and scripts as files.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use relayout_files::cannot;
use relayout_patch::PatchMail;

use crate::Error;

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
pub fn write_mails(file: &Path, mails: &[PatchMail]) -> Result<(), Error> {
    if mails.is_empty() {
        return Ok(());
    }
    let text: String = mails
        .iter()
        .enumerate()
        .map(|(index, mail)| mail.to_text(index + 1, mails.len()))
        .collect();
    Ok(std::fs::write(file, text).map_err(cannot("write", file))?)
}

/// Writes [`HARDWARE_SCRIPT`] as an executable file.
///
/// # Errors
/// The file cannot be written.
pub fn write_hardware_script(file: &Path) -> Result<(), Error> {
    let write = || {
        std::fs::write(file, HARDWARE_SCRIPT)?;
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755))
    };
    Ok(write().map_err(cannot("write", file))?)
}
