//! Source lines around the instructions of findings, from a tree that the user names.
//!
//! The tree may be of another version than the recorded build: a profile does not hold its source. So an excerpt is what
//! the tree has at a line, and nothing is decided by it.

use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};
use std::path::Path;

use relayout_contend::{Finding, SiteSource};
use relayout_files::read_regular_text;
use relayout_patch::source_path_candidates;

/// Lines before and after the one of the instruction.
const LINES_AROUND: u32 = 3;
/// Characters of a line.
const LINE_LENGTH_MAX: usize = 160;

/// Source lines around one that accesses memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceExcerpt {
    /// Name of the file in the debug information.
    pub file: String,
    /// Line of the instruction, from 1.
    pub line: u32,
    /// Path of the file below the tree.
    pub path: String,
    /// Number of the first of `lines`.
    pub first_line: u32,
    /// Lines in order, without line ends, each cut to 160 characters.
    pub lines: Vec<String>,
}

/// Returns the lines around all instructions of the findings, by file and line. Files that are not in `tree`, or
/// are shorter than the line, have none.
pub fn read_source_excerpts(findings: &[&Finding], tree: &Path) -> Vec<SourceExcerpt> {
    let positions: BTreeSet<(&str, u32)> = { findings.iter() }
        .flat_map(|finding| finding_sources(finding))
        .filter_map(|source| Some((source.file.as_deref()?, source.line?)))
        .collect();
    read_excerpts_at(positions, tree)
}

/// Returns the lines around each of `positions`, a file of the debug information and a line, as
/// [`read_source_excerpts`] does.
pub fn read_excerpts_at<'p>(
    positions: impl IntoIterator<Item = (&'p str, u32)>,
    tree: &Path,
) -> Vec<SourceExcerpt> {
    let mut texts: BTreeMap<&str, Option<SourceText>> = BTreeMap::new();
    let mut excerpts = Vec::new();
    for (file, line) in positions {
        let text = match texts.entry(file) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(SourceText::read(file, tree)),
        };
        excerpts.extend({ text.as_ref() }.and_then(|text| text.excerpt(file, line)));
    }
    excerpts
}

/// Returns the sources of a finding's sites and pairs.
fn finding_sources(finding: &Finding) -> impl Iterator<Item = &SiteSource> {
    let sites = finding.sites.iter().map(|site| &site.source);
    let pairs = { finding.pairs.iter() }.flat_map(|pair| [&pair.here.source, &pair.there.source]);
    sites.chain(pairs)
}

/// Text of a file of the tree.
struct SourceText {
    path: String,
    lines: Vec<String>,
}

impl SourceText {
    /// Reads the file that the debug information calls `file`.
    fn read(file: &str, tree: &Path) -> Option<Self> {
        source_path_candidates(file).into_iter().find_map(|path| {
            let text = read_regular_text(&tree.join(&path)).ok()?;
            let lines = { text.lines() }.map(|line| line.chars().take(LINE_LENGTH_MAX).collect());
            Some(Self {
                lines: lines.collect(),
                path,
            })
        })
    }

    fn excerpt(&self, file: &str, line: u32) -> Option<SourceExcerpt> {
        let index = (line as usize).checked_sub(1)?;
        if index >= self.lines.len() {
            return None;
        }
        let first = index.saturating_sub(LINES_AROUND as usize);
        let end = (index + LINES_AROUND as usize + 1).min(self.lines.len());
        Some(SourceExcerpt {
            file: file.to_owned(),
            line,
            path: self.path.clone(),
            first_line: first as u32 + 1,
            lines: self.lines[first..end].to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> SourceText {
        SourceText {
            path: "a.c".to_owned(),
            lines: (1..=9).map(|line| format!("line {line}")).collect(),
        }
    }

    #[track_caller]
    fn check(line: u32, expect: Option<(u32, usize)>) {
        let excerpt = text().excerpt("b/a.c", line);
        assert_eq!(
            excerpt.map(|excerpt| (excerpt.first_line, excerpt.lines.len())),
            expect
        );
    }

    #[test]
    fn an_excerpt_ends_with_its_file() {
        check(5, Some((2, 7)));
        check(1, Some((1, 4)));
        check(9, Some((6, 4)));
        check(10, None);
        check(0, None);
    }
}
