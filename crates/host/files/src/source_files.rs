//! Source files below a folder.

use std::path::{Path, PathBuf};

/// Files that are listed, at most: the kernel has 60,000.
const FILES_MAX: usize = 1_000_000;

/// Returns the regular files of C and C++ below `folder`, sorted. Links are not followed: they lead
/// to files that are listed anyway, or in circles. Folders that cannot be read are left out.
pub fn c_source_files(folder: &Path) -> Vec<PathBuf> {
    files_below(folder, &is_c_source)
}

/// Returns the regular files of Rust below `folder`, sorted, without those that cargo builds.
/// Links and folders that cannot be read are left out.
pub fn rust_source_files(folder: &Path) -> Vec<PathBuf> {
    let built = folder.join("target");
    files_below(folder, &|path| {
        let is_rust = path.extension().is_some_and(|extension| extension == "rs");
        is_rust && !path.starts_with(&built)
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

fn is_c_source(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| {
        matches!(
            extension,
            "c" | "h" | "cc" | "cpp" | "cxx" | "hh" | "hpp" | "hxx" | "inc"
        )
    })
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
        assert_eq!(
            rust_source_files(folder.path()),
            [folder.path().join("d.rs")]
        );
        let expect = [folder.path().join("a.c"), inner.join("c.hpp")];
        assert_eq!(c_source_files(folder.path()), expect);
        assert_eq!(
            c_source_files(&folder.path().join("none")),
            [] as [PathBuf; 0]
        );
    }
}
