//! Profiles in a folder.

use std::path::{Path, PathBuf};

use relayout_profile::parquet::META_FILE;

use relayout_messages::UserError;

/// Folders inside each other that are searched.
const DEPTH_MAX: usize = 8;

/// Returns `path` if it is a profile, or the profiles in it, sorted. Symbolic links inside are not
/// followed.
///
/// # Errors
/// A folder cannot be read, or there is no profile.
pub fn find_profiles(path: &Path) -> Result<Vec<PathBuf>, UserError> {
    let mut found = Vec::new();
    collect_profiles(path, DEPTH_MAX, &mut found)?;
    match found.is_empty() {
        true => {
            let message = format!("{} is no profile and holds none", path.display());
            Err(UserError::input(message).with_remedy(
                "`relayout record` writes a profile, `relayout suite` a folder of them",
            ))
        }
        false => Ok(found),
    }
}

fn collect_profiles(
    folder: &Path,
    depth: usize,
    found: &mut Vec<PathBuf>,
) -> Result<(), UserError> {
    if folder.join(META_FILE).is_file() {
        found.push(folder.to_owned());
        return Ok(());
    }
    let unreadable = |cause| relayout_files::cannot("read", folder)(cause);
    let entries = std::fs::read_dir(folder).map_err(unreadable)?;
    let mut folders = Vec::new();
    for entry in entries {
        let entry = entry.map_err(unreadable)?;
        if entry.file_type().map_err(unreadable)?.is_dir() {
            folders.push(entry.path());
        }
    }
    folders.sort();
    if depth > 0 {
        for inner in folders {
            collect_profiles(&inner, depth - 1, found)?;
        }
    }
    Ok(())
}
