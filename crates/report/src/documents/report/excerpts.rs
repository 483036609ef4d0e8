//! Source lines around the instructions of a document.

use std::collections::{BTreeMap, BTreeSet};

use relayout_session::SourceFile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::source_excerpt::{line_start, lines_around};

/// A file of the tree of `--source`. The tree may be of another version than the recorded build.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SourceDocument {
    /// Name of the file, as in `sites[].file`.
    pub(crate) file: String,
    /// Path of the file below the tree.
    pub(crate) path: String,
    /// Lines around the instructions of the document, in order.
    pub(crate) excerpts: Vec<ExcerptDocument>,
}

/// Lines that follow each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ExcerptDocument {
    /// Number of the first line, from 1.
    pub(crate) first_line: u32,
    /// Lines without line ends, each cut to 160 characters.
    pub(crate) lines: Vec<String>,
}

/// Returns the lines around `positions`, which are names of files with numbers of lines from 1. A file that is
/// shorter than the line has none for it.
pub(crate) fn source_documents(
    sources: &[SourceFile],
    positions: &BTreeSet<(&str, u32)>,
) -> Vec<SourceDocument> {
    let mut lines_by_file: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for &(file, line) in positions {
        lines_by_file.entry(file).or_default().push(line);
    }
    let documents = sources.iter().filter_map(|source| {
        let excerpts = excerpt_documents(&source.text, lines_by_file.get(&*source.name)?);
        (!excerpts.is_empty()).then_some(SourceDocument {
            file: source.name.clone(),
            path: source.path.clone(),
            excerpts,
        })
    });
    documents.collect()
}

/// Returns the lines of `text` around `positions`, which ascend.
fn excerpt_documents(text: &str, positions: &[u32]) -> Vec<ExcerptDocument> {
    let lines: Vec<&str> = text.lines().collect();
    let mut excerpts: Vec<ExcerptDocument> = Vec::new();
    for &position in positions {
        let Some(around) = lines_around(position, lines.len()) else {
            continue;
        };
        let (first, last) = around.into_inner();
        if { excerpts.last() }.is_none_or(|excerpt| excerpt.end() < first) {
            excerpts.push(ExcerptDocument {
                first_line: first,
                lines: Vec::new(),
            });
        }
        if let Some(excerpt) = excerpts.last_mut() {
            let added = excerpt.end()..=last;
            let added = added.map(|number| line_start(lines[number as usize - 1]).to_owned());
            excerpt.lines.extend(added);
        }
    }
    excerpts
}

impl ExcerptDocument {
    /// Number of the line behind the last.
    fn end(&self) -> u32 {
        self.first_line + self.lines.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the first and the last lines of excerpts of a file of 20 lines.
    #[track_caller]
    fn check(positions: &[u32], expected: &[(u32, u32)]) {
        let text: String = (1..=20).map(|line| format!("line {line}\n")).collect();
        let excerpts = excerpt_documents(&text, positions);
        for excerpt in &excerpts {
            let numbers = excerpt.first_line..excerpt.end();
            let lines: Vec<String> = numbers.map(|number| format!("line {number}")).collect();
            assert_eq!(excerpt.lines, lines);
        }
        let ranges = { excerpts.iter() }.map(|excerpt| (excerpt.first_line, excerpt.end() - 1));
        assert_eq!(ranges.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn excerpts_that_touch_are_joined() {
        check(&[5, 6, 12], &[(2, 15)]);
        check(&[5, 13], &[(2, 8), (10, 16)]);
        check(&[0, 20, 21], &[(17, 20)]);
    }
}
