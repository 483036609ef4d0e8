//! Lines of a source file around one of them.

use std::ops::RangeInclusive;

/// Lines before and after the line of an instruction.
const LINES_AROUND: u32 = 3;
/// Characters of a line.
const LINE_LENGTH_MAX: usize = 160;

/// Returns the numbers of the lines around `line`, both from 1; `None` if the file has no such line.
pub(crate) fn lines_around(line: u32, line_count: usize) -> Option<RangeInclusive<u32>> {
    let line_count = u32::try_from(line_count).unwrap_or(u32::MAX);
    if !(1..=line_count).contains(&line) {
        return None;
    }
    let first = line.saturating_sub(LINES_AROUND).max(1);
    let last = line.saturating_add(LINES_AROUND).min(line_count);
    Some(first..=last)
}

/// Returns the first 160 characters of a line.
pub(crate) fn line_start(line: &str) -> &str {
    let end = line.char_indices().nth(LINE_LENGTH_MAX);
    &line[..end.map_or(line.len(), |(index, _)| index)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_ends_with_its_file() {
        assert_eq!(lines_around(5, 20), Some(2..=8));
        assert_eq!(lines_around(1, 20), Some(1..=4));
        assert_eq!(lines_around(20, 20), Some(17..=20));
        assert_eq!(lines_around(1, 1), Some(1..=1));
        for line in [0, 21, u32::MAX] {
            assert_eq!(lines_around(line, 20), None);
        }
        assert_eq!(lines_around(1, 0), None);
    }

    #[test]
    fn long_lines_are_cut_between_characters() {
        let line = "ü".repeat(LINE_LENGTH_MAX + 1);
        assert_eq!(line_start(&line), "ü".repeat(LINE_LENGTH_MAX));
    }
}
