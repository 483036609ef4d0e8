//! Private folders for temporary files, and the space that is left in a folder.

use std::path::Path;

use relayout_temporary::{PARTIAL_PREFIX, TemporaryFolder, WORK_PREFIX, remove_abandoned};

use crate::file_error::{FileError, cannot};
use crate::{CachedFiles, KeptFolders};

/// Creates a folder in `parent` that only this user can read. It is removed when dropped, or, if
/// this process is killed, by the next process that creates one there.
///
/// # Errors
/// The folder cannot be created.
pub fn private_dir(parent: &Path) -> Result<TemporaryFolder, FileError> {
    TemporaryFolder::create(parent, WORK_PREFIX).map_err(cannot("make a folder in", parent))
}

/// Removes what killed processes left in the folder for temporary files and in the cache of results.
/// Commands that make no temporary files call this, too.
pub fn remove_abandoned_files() {
    remove_abandoned(&std::env::temp_dir(), WORK_PREFIX);
    let caches = [CachedFiles::locate(), CachedFiles::locate_programs()];
    for cached in caches.iter().flatten() {
        remove_abandoned(cached.dir(), PARTIAL_PREFIX);
    }
    if let Some(snapshots) = KeptFolders::locate_snapshots() {
        remove_abandoned(snapshots.place(), PARTIAL_PREFIX);
    }
}

/// Returns the bytes that are free in the file system of `dir`; `None` where the system does not
/// tell.
pub fn free_bytes(dir: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(dir).ok()?;
    Some(stat.f_bavail * stat.f_frsize)
}
