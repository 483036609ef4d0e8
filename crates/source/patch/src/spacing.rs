//! Blank lines around moved members.
//!
//! A member joins the paragraph of the member before it. A member with a comment and a blank line
//! above is a paragraph, and stays one. A comment that ends in a colon is a heading: a blank line
//! separates its member from the members below. At the old position, a paragraph continues or two
//! paragraphs stay apart. The result has no two blank lines together, and none at a brace.

use crate::lines::{is_blank_line, line_ending, line_start, next_line_start};

/// Numbers of blank lines after a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoveSpacing {
    /// Lines above the moved members.
    pub above: usize,
    /// Lines below the moved members.
    pub below: usize,
    /// Lines at the old position.
    pub left_behind: usize,
}

impl MoveSpacing {
    /// Returns the blank lines around `lines` and `target` today, which a move back restores.
    pub(crate) fn before_move(source: &str, lines: (usize, usize), target: usize) -> Self {
        let own = BlankLines::around(source, lines);
        let gap = BlankLines::around(source, (target, target));
        MoveSpacing {
            above: own.above,
            below: own.below,
            left_behind: gap.above + gap.below,
        }
    }
}

/// Blank lines around some lines, in bytes of the source.
pub(crate) struct BlankLines {
    pub above: usize,
    pub below: usize,
    /// Start of the first blank line above.
    pub start: usize,
    /// End of the last blank line below.
    pub end: usize,
    /// The body begins right before.
    opens: bool,
    /// The body ends right behind.
    closes: bool,
}

impl BlankLines {
    /// Finds the blank lines around the lines in bytes `start..end`.
    pub fn around(source: &str, (mut start, mut end): (usize, usize)) -> Self {
        let (mut above, mut below) = (0, 0);
        while start > 0 && is_blank_line(source, line_start(source, start - 1)) {
            (start, above) = (line_start(source, start - 1), above + 1);
        }
        while is_blank_line(source, end) {
            (end, below) = (next_line_start(source, end), below + 1);
        }
        BlankLines {
            above,
            below,
            start,
            end,
            opens: source[..start].trim_end().ends_with('{'),
            closes: source[end..].trim_start().starts_with(['}', ')']),
        }
    }

    /// Blank lines that stay when the lines go.
    pub fn left_behind(&self) -> usize {
        match self.opens || self.closes {
            true => 0,
            false => self.above.max(self.below),
        }
    }
}

/// Lines that move.
pub(crate) struct MovedLines {
    /// Bytes of the source that are cut out.
    pub cut: (usize, usize),
    /// Lines to insert.
    pub text: String,
    /// A comment stands above the members.
    pub has_comment: bool,
    /// The comment is a heading.
    pub has_heading: bool,
}

impl MovedLines {
    /// Returns the source with the lines at byte `target`, with `spacing` or in good style.
    pub fn insert_at(&self, source: &str, target: usize, spacing: Option<MoveSpacing>) -> String {
        let own = BlankLines::around(source, self.cut);
        let gap = BlankLines::around(source, (target, target));
        let is_inside = (own.start..=own.end).contains(&target);
        let edges = if is_inside { &own } else { &gap };
        let spacing = spacing.unwrap_or_else(|| self.good_spacing(&own, &gap, edges));
        let blank = |lines: usize| line_ending(source).repeat(lines);
        let put = [
            &blank(spacing.above),
            self.text.as_str(),
            &blank(spacing.below),
        ]
        .concat();
        let left = blank(spacing.left_behind);
        let (first, second, put, left) = match gap.start < own.start {
            _ if is_inside => ((own.start, own.start), &own, String::new(), put),
            true => ((gap.start, gap.end), &own, put, left),
            false => ((own.start, own.end), &gap, left, put),
        };
        [
            &source[..first.0],
            &put,
            &source[first.1..second.start],
            &left,
            &source[second.end..],
        ]
        .concat()
    }

    fn good_spacing(&self, own: &BlankLines, gap: &BlankLines, edges: &BlankLines) -> MoveSpacing {
        let paragraph = self.has_comment && own.above > 0;
        let separate_below = self.has_heading || paragraph && (own.below > 0 || edges.opens);
        let lines = |count: usize, separate: bool, at_edge: bool| match at_edge {
            true => 0,
            false => count.max(usize::from(separate)),
        };
        MoveSpacing {
            above: lines(gap.above, paragraph, edges.opens),
            below: lines(gap.below, separate_below, edges.closes),
            left_behind: own.left_behind(),
        }
    }
}
