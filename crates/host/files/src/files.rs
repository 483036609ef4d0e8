//! Files that are whole or not there, and their full names.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::file_error::{FileError, cannot};

/// Writes a file, and its folder if there is none; what was at `path` is replaced when the new one is
/// whole.
///
/// # Errors
/// The folder cannot be made or written to.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(parent).map_err(cannot("create", parent))?;
    let write = || -> std::io::Result<()> {
        let mut partial = tempfile::Builder::new()
            // As for any new file, less what the user's mask takes away.
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(parent)?;
        partial.write_all(bytes)?;
        partial.as_file().sync_all()?;
        partial.persist(path)?;
        Ok(())
    };
    write().map_err(cannot("write", path))
}

/// The full name of a file, links followed; as given if it is not there.
pub fn canonical_name(path: &Path) -> String {
    let full = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    full.display().to_string()
}
