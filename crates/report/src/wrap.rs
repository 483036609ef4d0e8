//! Text in lines of limited width.

use std::fmt::Write as _;

/// Widest line of prose, in columns.
const PROSE_WIDTH: usize = 100;

/// Wraps `text` into lines of at most 100 columns; lines after the first are indented by `indent`.
pub(crate) fn wrap_text(text: &str, indent: usize) -> String {
    wrap_text_at(PROSE_WIDTH, text, indent)
}

/// Wraps `text` into lines of at most `width` columns, as [`wrap_text`] does.
pub(crate) fn wrap_text_at(width: usize, text: &str, indent: usize) -> String {
    let mut out = String::new();
    let mut column = 0;
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
            column = 0;
        }
        for (index, word) in line.split(' ').enumerate() {
            if index > 0 && column + 1 + word.len() > width {
                let _ = write!(out, "\n{:indent$}", "");
                column = indent;
            } else if index > 0 {
                out.push(' ');
                column += 1;
            }
            out.push_str(word);
            column += word.len();
        }
    }
    out
}

/// Joins words by spaces into lines of at most `width` columns.
pub(crate) fn wrap_words<'w>(
    words: impl IntoIterator<Item = &'w str>,
    width: usize,
) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
