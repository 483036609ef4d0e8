//! Lines and columns of a text, in bytes from its start.

/// Columns per tab stop, as in kernel style.
const TAB_COLUMNS: usize = 8;

/// 1-based number of the line that holds byte `at`.
pub(crate) fn line_number(source: &str, at: usize) -> u32 {
    let newlines = source.as_bytes()[..at.min(source.len())]
        .iter()
        .filter(|&&b| b == b'\n')
        .count();
    u32::try_from(newlines + 1).unwrap_or(u32::MAX)
}

/// First byte of the line that holds byte `at`.
pub(crate) fn line_start(source: &str, at: usize) -> usize {
    source.as_bytes()[..at]
        .iter()
        .rposition(|&b| b == b'\n')
        .map_or(0, |newline| newline + 1)
}

/// White space at the start of the line that holds byte `at`.
pub(crate) fn indent_at(source: &str, at: usize) -> &str {
    let line = &source[line_start(source, at)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// First byte after the newline of the line that holds byte `at`; the text's end on the last.
pub(crate) fn next_line_start(source: &str, at: usize) -> usize {
    source.as_bytes()[at..]
        .iter()
        .position(|&b| b == b'\n')
        .map_or(source.len(), |newline| at + newline + 1)
}

/// Returns true if a line starts at byte `start` and holds white space only.
pub(crate) fn is_blank_line(source: &str, start: usize) -> bool {
    start < source.len()
        && source[start..next_line_start(source, start)]
            .trim()
            .is_empty()
}

/// Returns true if only white space stands between the start of the line and byte `at`.
pub(crate) fn is_first_on_line(source: &str, at: usize) -> bool {
    source[line_start(source, at)..at].trim().is_empty()
}

/// Width of `text`, which starts at column 0 and holds no newline.
pub(crate) fn width_columns(text: &str) -> usize {
    text.chars().fold(0, |column, c| {
        if c == '\t' {
            (column / TAB_COLUMNS + 1) * TAB_COLUMNS
        } else {
            column + 1
        }
    })
}

/// 0-based column of byte `at`.
pub(crate) fn column_of(source: &str, at: usize) -> usize {
    width_columns(&source[line_start(source, at)..at])
}

/// The line ending that the text uses.
pub(crate) fn line_ending(source: &str) -> &'static str {
    match source.find('\n') {
        Some(at) if source[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}
