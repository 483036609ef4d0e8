//! Replacements of bytes of a text.

use std::ops::Range;

/// Text to put in place of some bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextEdit {
    /// Bytes of the old text that go; none for an insertion.
    pub bytes: Range<usize>,
    pub text: String,
}

impl TextEdit {
    /// Inserts a text in front of byte `at`.
    pub fn insert(at: usize, text: String) -> Self {
        Self {
            bytes: at..at,
            text,
        }
    }
}

/// Makes edits that do not overlap; those at one byte stay in their order.
pub(crate) fn apply_edits(source: &str, mut edits: Vec<TextEdit>) -> String {
    edits.sort_by_key(|edit| edit.bytes.start);
    let mut new = String::with_capacity(source.len());
    let mut copied = 0;
    for edit in edits {
        new.push_str(source.get(copied..edit.bytes.start).unwrap_or(""));
        new.push_str(&edit.text);
        copied = edit.bytes.end.max(copied);
    }
    new.push_str(source.get(copied..).unwrap_or(""));
    new
}
