//! Folders as lists of files.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::Context as _;

/// Reads all files below a folder, by their paths relative to it. Symbolic links are left out.
///
/// # Errors
/// A file cannot be read.
pub fn read_files(folder: &Path) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    add_files(folder, "", &mut files)?;
    Ok(files)
}

fn add_files(
    folder: &Path,
    prefix: &str,
    files: &mut BTreeMap<String, Vec<u8>>,
) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            add_files(&entry.path(), &format!("{name}/"), files)?;
        } else if kind.is_file() {
            let bytes = fs::read(entry.path()).with_context(|| name.clone())?;
            files.insert(name, bytes);
        }
    }
    Ok(())
}

/// Copies a file, a symbolic link, or a folder with all that is in it.
///
/// # Errors
/// A file cannot be read or written.
pub fn copy_entry(from: &Path, to: &Path) -> anyhow::Result<()> {
    let kind = fs::symlink_metadata(from)
        .with_context(|| from.display().to_string())?
        .file_type();
    if kind.is_symlink() {
        symlink(fs::read_link(from)?, to)?;
    } else if kind.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let name = entry?.file_name();
            copy_entry(&from.join(&name), &to.join(&name))?;
        }
    } else {
        fs::copy(from, to).with_context(|| to.display().to_string())?;
    }
    Ok(())
}

/// Removes a folder with all that is in it, if it exists.
///
/// # Errors
/// A file cannot be removed.
pub fn remove_folder(folder: &Path) -> anyhow::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| folder.display().to_string())
        }
        _ => Ok(()),
    }
}
