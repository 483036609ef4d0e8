//! Source files below a folder.

use std::path::{Path, PathBuf};

/// Files that are listed, at most: the kernel has 60,000.
const FILES_MAX: usize = 1_000_000;

/// Returns the regular files below `folder` whose names have one of the extensions, sorted, without
/// those in `built_folder`. Links are not followed: they lead to files that are listed anyway, or in
/// circles. Folders that cannot be read are left out.
pub fn source_files(
    folder: &Path,
    extensions: &[&str],
    built_folder: Option<&str>,
) -> Vec<PathBuf> {
    let built = built_folder.map(|built| folder.join(built));
    files_below(folder, &|path| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        let is_built = || built.as_ref().is_some_and(|built| path.starts_with(built));
        extension.is_some_and(|extension| extensions.contains(&extension)) && !is_built()
    })
}

fn files_below(folder: &Path, is_listed: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() && is_listed(&entry.path()) => {
                    files.push(entry.path());
                }
                _ => {}
            }
        }
        if files.len() > FILES_MAX {
            break;
        }
    }
    files.sort_unstable();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_other_files_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        for name in ["a.c", "b.txt", "inner/c.hpp"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        std::os::unix::fs::symlink(folder.path(), inner.join("circle")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("a.c"), inner.join("d.c")).unwrap();
        std::fs::create_dir(folder.path().join("target")).unwrap();
        for name in ["d.rs", "target/e.rs"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let files = |extensions: &[&str]| source_files(folder.path(), extensions, Some("target"));
        assert_eq!(files(&["rs"]), [folder.path().join("d.rs")]);
        let expect = [folder.path().join("a.c"), inner.join("c.hpp")];
        assert_eq!(files(&["c", "hpp"]), expect);
        let missing = folder.path().join("none");
        assert_eq!(source_files(&missing, &["c"], None), [] as [PathBuf; 0]);
    }
}
