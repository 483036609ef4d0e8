//! Source files of a finding's instructions, from a tree that the user names.
//!
//! The tree may be of another version than the recorded build: a profile does not hold its source. So a line is what
//! the tree has there, and nothing is decided by it.

use std::collections::BTreeSet;
use std::path::Path;

use relayout_contend::{Finding, SiteSource};
use relayout_files::read_regular;
use relayout_patch::source_path_candidates;

/// A source file that instructions come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Name of the file in the debug information.
    pub name: String,
    /// Path of the file below the tree.
    pub path: String,
    /// Text of the file.
    pub text: String,
}

/// Returns the files of all instructions of the findings, by name, without those that are not in `tree`.
pub fn read_source_files(findings: &[&Finding], tree: &Path) -> Vec<SourceFile> {
    let sources = { findings.iter() }.flat_map(|finding| finding_sources(finding));
    let names: BTreeSet<&str> = sources
        .filter_map(|source| source.file.as_deref())
        .collect();
    { names.into_iter() }
        .filter_map(|name| read_source_file(name, tree))
        .collect()
}

/// Returns the sources of a finding's sites and pairs.
fn finding_sources(finding: &Finding) -> impl Iterator<Item = &SiteSource> {
    let sites = finding.sites.iter().map(|site| &site.source);
    let pairs = { finding.pairs.iter() }.flat_map(|pair| [&pair.here.source, &pair.there.source]);
    sites.chain(pairs)
}

/// Returns the file that debug information calls `name`; `None` if it is not in `tree`, or cannot
/// be read. Bytes in another encoding than UTF-8 are shown as such.
pub fn read_source_file(name: &str, tree: &Path) -> Option<SourceFile> {
    source_path_candidates(name).into_iter().find_map(|path| {
        let bytes = read_regular(&tree.join(&path)).ok()?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let name = name.to_owned();
        Some(SourceFile { name, path, text })
    })
}
