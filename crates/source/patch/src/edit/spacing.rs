//! Blank lines around moved members.
//!
//! A member joins the paragraph of the member before it. A member with a comment and a blank line
//! above is a paragraph, and stays one. A comment that ends in a colon is a heading: a blank line
//! separates its member from the members below. At the old position, a paragraph continues or two
//! paragraphs stay apart. The result has no two blank lines together, and none at a brace.

use crate::lines::{is_blank_line, line_start, next_line_start};

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
    /// Returns the blank lines of good style, from the blank lines `(above, below)` around the
    /// moved members and around the target. The members may be a paragraph or have a heading
    /// above; the target may be at an opening or a closing brace.
    pub(crate) fn by_style(
        own: (usize, usize),
        was_at_edge: bool,
        gap: (usize, usize),
        (paragraph, heading): (bool, bool),
        (opens, closes): (bool, bool),
    ) -> Self {
        let left = match was_at_edge {
            true => 0,
            false => own.0.max(own.1),
        };
        let above = match paragraph {
            true => gap.0.max(1),
            false => gap.0,
        };
        let below = match heading || paragraph && (own.1 > 0 || opens) {
            true => gap.1.max(1),
            false => gap.1,
        };
        MoveSpacing {
            above: if opens { 0 } else { above },
            below: if closes { 0 } else { below },
            left_behind: left,
        }
    }
}

/// Number of blank lines above the line that starts at byte `at`.
pub(crate) fn blank_lines_above(source: &str, mut at: usize) -> usize {
    let mut lines = 0;
    while at > 0 {
        let above = line_start(source, at - 1);
        if !is_blank_line(source, above) {
            break;
        }
        (at, lines) = (above, lines + 1);
    }
    lines
}

/// Number of blank lines from the line that starts at byte `at`.
pub(crate) fn blank_lines_below(source: &str, mut at: usize) -> usize {
    let mut lines = 0;
    while is_blank_line(source, at) {
        (at, lines) = (next_line_start(source, at), lines + 1);
    }
    lines
}

/// Returns true if the next text from byte `at` on is the end of the body.
pub(crate) fn closes_body(source: &str, at: usize) -> bool {
    source[at..].trim_start().starts_with(['}', ')'])
}

/// Returns true if the body begins before byte `at`.
pub(crate) fn opens_body(source: &str, at: usize) -> bool {
    source[..at].trim_end().ends_with('{')
}
