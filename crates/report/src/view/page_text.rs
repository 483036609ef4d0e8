//! Builds the lines of a screen that scrolls: headings, facts, sentences and rows.

use ratatui_core::text::{Line, Span};

use super::palette::{TextRole, ViewPalette};
use super::text_fit::{fit_left, wrap_to_width};

/// Columns of the name of a fact.
const FACT_COLUMNS: usize = 12;

/// Lines of a screen, for a window of a width.
pub(super) struct PageText {
    pub width: usize,
    pub palette: ViewPalette,
    lines: Vec<Line<'static>>,
}

impl PageText {
    pub fn new(width: usize, palette: ViewPalette) -> Self {
        Self {
            width,
            palette,
            lines: Vec::new(),
        }
    }

    pub fn into_lines(self) -> Vec<Line<'static>> {
        self.lines
    }

    /// Adds a line as it is.
    pub fn push_line(&mut self, line: Line<'static>) {
        self.lines.push(line);
    }

    pub fn push_text(&mut self, text: String) {
        self.lines.push(Line::from(text));
    }

    /// Adds a heading, after an empty line if it is not the first.
    pub fn push_heading(&mut self, text: &str) {
        if !self.lines.is_empty() {
            self.push_text(String::new());
        }
        let style = self.palette.style(TextRole::Heading);
        for line in wrap_to_width(text, self.width) {
            self.push_line(Line::styled(line, style));
        }
    }

    /// Adds a sentence in as many lines as it needs.
    pub fn push_sentence(&mut self, text: &str) {
        for line in wrap_to_width(text, self.width) {
            self.push_text(line);
        }
    }

    /// Adds a name with its value beside.
    pub fn push_fact(&mut self, name: &str, value: &str) {
        let indent = FACT_COLUMNS.min(self.width / 3);
        self.push_hanging(&fit_left(name, indent.saturating_sub(1)), indent, value);
    }

    /// Adds a text whose lines after the first are indented as the first is by `start`.
    pub fn push_hanging(&mut self, start: &str, indent: usize, text: &str) {
        let room = self.width.saturating_sub(indent);
        for (number, line) in wrap_to_width(text, room).into_iter().enumerate() {
            let before = if number == 0 { start } else { "" };
            self.push_text(format!("{}{line}", fit_left(before, indent)));
        }
    }

    /// Adds the head of a table.
    pub fn push_table_head(&mut self, text: String) {
        let style = self.palette.style(TextRole::Heading);
        self.push_line(Line::styled(text, style));
    }

    /// Adds a line that begins with a styled mark.
    pub fn push_marked(&mut self, mark: String, role: TextRole, rest: String) {
        let mark = Span::styled(mark, self.palette.style(role));
        self.push_line(Line::from(vec![mark, Span::raw(rest)]));
    }
}
