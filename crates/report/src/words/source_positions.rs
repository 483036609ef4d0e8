//! Source positions as shown: without the directory that the program's own files share, and without that
//! of Cargo's registry.

use std::collections::BTreeSet;

use relayout_advice::is_library_file;
use relayout_contend::Findings;

use crate::documents::report::site::PositionDocument;

/// Renders sources; knows the directory of the source tree.
pub(crate) struct SourcePositions {
    /// Ends in a slash; empty if the files share none.
    root: String,
}

impl SourcePositions {
    pub fn new(findings: &Findings) -> Self {
        let in_findings = findings.findings.iter().flat_map(|finding| &finding.sites);
        let in_rest = findings.unresolved.iter().flat_map(|class| &class.sites);
        let sites = in_findings.chain(in_rest);
        Self::from_files(sites.filter_map(|site| site.source.file.as_deref()))
    }

    /// Leaves out the directory that these files share.
    pub fn from_files<'f>(files: impl Iterator<Item = &'f str>) -> Self {
        let files = files.filter(|file| !is_library_file(file) && path_in_registry(file).is_none());
        // A kernel names C files from its build directory, and assembly from the root.
        let (absolute, relative): (Vec<&str>, Vec<&str>) =
            files.partition(|file| file.starts_with('/'));
        let majority = if absolute.len() > relative.len() {
            absolute
        } else {
            relative
        };
        Self {
            root: shared_directory(majority.into_iter().collect()),
        }
    }

    /// Returns names of files below the directory `root`, which ends in a slash; empty for none.
    pub fn below(root: &str) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    /// The directory that is left out of file names; empty if none is.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// `free_percpu`, or the file and line where there is no function.
    pub fn function_or_position(&self, place: &PositionDocument) -> String {
        { place.function.clone() }.unwrap_or_else(|| self.position(place))
    }

    /// `free_percpu mm/percpu.c:2259`
    pub fn function_and_position(&self, place: &PositionDocument) -> String {
        let function = place.function.as_deref().unwrap_or("?");
        format!("{function} {}", self.position(place))
    }

    /// `mm/percpu.c:2259`
    pub fn position(&self, place: &PositionDocument) -> String {
        let file = self.shown_file(place.file.as_deref().unwrap_or("?"));
        match place.line {
            Some(line) => format!("{file}:{line}"),
            None => file.to_owned(),
        }
    }

    /// `mm/percpu.c`: the path without the directory of the source tree.
    pub fn shown_file<'f>(&self, file: &'f str) -> &'f str {
        shown_file(file, &self.root)
    }
}

/// Returns a file's name without the directory `root` that the files share, and without that of Cargo's registry.
pub(crate) fn shown_file<'f>(file: &'f str, root: &str) -> &'f str {
    let in_tree = file.strip_prefix(root).filter(|_| !root.is_empty());
    let file = in_tree.or_else(|| path_in_registry(file)).unwrap_or(file);
    file.strip_prefix("./").unwrap_or(file)
}

/// Returns the path of a file that Cargo fetched, from the folder of its package on:
/// `tokio-1.40.0/src/sync/mpsc/chan.rs`. `None` for other files.
fn path_in_registry(file: &str) -> Option<&str> {
    let (_, behind) = file.split_once("/registry/src/")?;
    let (_, path) = behind.split_once('/')?;
    Some(path)
}

/// The longest directory that all of `files` (sorted) are under.
fn shared_directory(files: BTreeSet<&str>) -> String {
    let (Some(first), Some(last)) = (files.first(), files.last()) else {
        return String::new();
    };
    // The first and the last differ as early as any two do.
    let shared_bytes = first
        .bytes()
        .zip(last.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    let slash = first.as_bytes()[..shared_bytes]
        .iter()
        .rposition(|&byte| byte == b'/');
    match slash {
        Some(slash_index) if slash_index > 0 => first[..=slash_index].to_owned(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_shared_directory(files: &[&str], expect: &str) {
        assert_eq!(shared_directory(files.iter().copied().collect()), expect);
    }

    #[test]
    fn packages_of_the_registry() {
        let file =
            "/home/a/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/bytes-1.7.1/src/lib.rs";
        assert_eq!(path_in_registry(file), Some("bytes-1.7.1/src/lib.rs"));
        assert_eq!(path_in_registry("/b/registry/src"), None);
    }

    #[test]
    fn shared_directories() {
        assert_shared_directory(
            &[
                "/b/linux/mm/percpu.c",
                "/b/linux/mm/slub.c",
                "/b/linux/fs/inode.c",
            ],
            "/b/linux/",
        );
        assert_shared_directory(&["/b/linux/mm/percpu.c"], "/b/linux/mm/");
        assert_shared_directory(
            &["debian/build/fs/a.c", "debian/build/mm/b.c"],
            "debian/build/",
        );
        assert_shared_directory(&["fs/a.c", "mm/b.c"], "");
        assert_shared_directory(&["/b/x.c", "/c/y.c"], "");
        assert_shared_directory(&[], "");
    }
}
