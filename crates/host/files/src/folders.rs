//! Private folders for temporary files, and the space that is left in a folder.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;

use crate::file_error::{FileError, cannot};

/// Creates a folder in `parent` that only this user can read. It is removed when dropped.
///
/// # Errors
/// The folder cannot be created.
pub fn private_dir(parent: &Path) -> Result<TempDir, FileError> {
    tempfile::Builder::new()
        .prefix("relayout-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(parent)
        .map_err(cannot("make a folder in", parent))
}

/// Returns the bytes that are free in the file system of `dir`; `None` where the system does not
/// tell.
pub fn free_bytes(dir: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(dir).ok()?;
    Some(stat.f_bavail * stat.f_frsize)
}
