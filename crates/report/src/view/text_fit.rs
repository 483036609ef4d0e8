//! Text in columns of a terminal. Widths are of cells: some characters take two, and some none.

use std::borrow::Cow;

use ratatui_core::text::Span;

use crate::words::escape::escape_text;
use crate::words::wrap::wrap_words;

/// Mark of a text that was cut.
const CUT_MARK: &str = "..";
/// Columns from one tab stop to the next, in source lines.
const TAB_COLUMNS: usize = 4;

/// Returns a text from a file as one line without characters that a terminal would obey.
pub(super) fn shown_text(text: &str) -> Cow<'_, str> {
    match text.contains(['\n', '\t']) {
        true => escape_text(text)
            .replace('\n', "\\n")
            .replace('\t', "\\t")
            .into(),
        false => escape_text(text),
    }
}

/// Returns a source line as a terminal shows it, with spaces for tabs.
pub(super) fn shown_source_line(line: &str) -> String {
    let mut shown = String::new();
    for c in escape_text(line).chars() {
        match c {
            '\t' => {
                let column = text_width(&shown);
                shown.extend(std::iter::repeat_n(' ', TAB_COLUMNS - column % TAB_COLUMNS));
            }
            c => shown.push(c),
        }
    }
    shown
}

/// Returns the columns of a text.
pub(super) fn text_width(text: &str) -> usize {
    match text.is_ascii() {
        true => text.len(),
        false => Span::raw(text).width(),
    }
}

/// Returns the text in exactly `width` columns: padded, or cut with a mark.
pub(super) fn fit_left(text: &str, width: usize) -> String {
    let mut fitted = cut_text(text, width);
    let own_width = text_width(&fitted);
    fitted.extend(std::iter::repeat_n(' ', width.saturating_sub(own_width)));
    fitted
}

/// Returns the text at the right of `width` columns.
pub(super) fn fit_right(text: &str, width: usize) -> String {
    let own_width = text_width(text);
    match own_width <= width {
        true => format!("{}{text}", " ".repeat(width - own_width)),
        false => cut_text(text, width),
    }
}

/// Returns the text in at most `width` columns; a text that is cut ends in `..`.
pub(super) fn cut_text(text: &str, width: usize) -> String {
    if text_width(text) <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(CUT_MARK.len());
    let (start, _) = split_at_width(text, room);
    match width < CUT_MARK.len() {
        true => ".".repeat(width),
        false => format!("{start}{CUT_MARK}"),
    }
}

/// Splits a text behind the characters that fit `width` columns.
fn split_at_width(text: &str, width: usize) -> (&str, &str) {
    let mut columns = 0;
    let end = text.char_indices().find(|&(at, c)| {
        columns += text_width(&text[at..at + c.len_utf8()]);
        columns > width
    });
    text.split_at(end.map_or(text.len(), |(at, _)| at))
}

/// Breaks a text into lines of at most `width` columns, at spaces where there are any.
pub(super) fn wrap_to_width(text: &str, width: usize) -> Vec<String> {
    let width = width.max(2);
    let mut lines = Vec::new();
    for line in wrap_words(text.split_whitespace(), width) {
        let mut rest = line.as_str();
        while text_width(rest) > width {
            let (start, end) = split_at_width(rest, width);
            lines.push(start.to_owned());
            rest = end;
        }
        lines.push(rest.to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_to_its_columns() {
        for (text, width, expect) in [
            ("d_lockref", 9, "d_lockref"),
            ("d_lockref.count", 9, "d_lockr.."),
            ("d_lockref", 1, "."),
            ("\u{4e2d}\u{6587}\u{5b57}", 5, "\u{4e2d}.."),
            ("", 0, ""),
        ] {
            assert_eq!(cut_text(text, width), expect);
        }
        assert_eq!(fit_right("\u{4e2d}", 4), "  \u{4e2d}");
    }

    #[test]
    fn names_cannot_break_lines() {
        assert_eq!(shown_text("a\nb\x1b[2J\u{202e}"), r"a\nb\u{1b}[2J\u{202e}");
        assert_eq!(
            shown_source_line("\tif (x)\t/* y */"),
            "    if (x)  /* y */"
        );
    }

    #[test]
    fn a_long_word_is_broken() {
        assert_eq!(
            wrap_to_width("one twothreefour", 6),
            ["one", "twothr", "eefour"]
        );
    }
}
