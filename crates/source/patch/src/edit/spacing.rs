//! Blank lines around what moves.
//!
//! A member goes into the paragraph of the one it comes behind. One that has a comment above and a
//! blank line above that is a paragraph, and stays one. A comment that ends in a colon must not become the heading of what
//! comes to stand below, so that a blank line ends what it is about. Where it was, a paragraph goes on or two
//! stay apart. Two blank lines never come to stand together, nor one at a brace.

use crate::lines::{is_blank_line, line_start, next_line_start};

/// Numbers of blank lines after a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoveSpacing {
    /// Above what moved.
    pub above: usize,
    /// Below it.
    pub below: usize,
    /// Where it was.
    pub left_behind: usize,
}

impl MoveSpacing {
    /// What good style makes of blank lines `(above, below)` around what moves, which may be a paragraph, or have a
    /// comment above that reads as a heading, and around the place where it goes; that may be at an opening or a
    /// closing brace.
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

/// Blank lines directly above the line that starts at byte `at`.
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

/// Blank lines from the one that starts at byte `at`.
pub(crate) fn blank_lines_below(source: &str, mut at: usize) -> usize {
    let mut lines = 0;
    while is_blank_line(source, at) {
        (at, lines) = (next_line_start(source, at), lines + 1);
    }
    lines
}

/// Whether nothing but a bracket stands on from byte `at` to the end of the body.
pub(crate) fn closes_body(source: &str, at: usize) -> bool {
    source[at..].trim_start().starts_with(['}', ')'])
}

/// Whether the body begins before byte `at`.
pub(crate) fn opens_body(source: &str, at: usize) -> bool {
    source[..at].trim_end().ends_with('{')
}
