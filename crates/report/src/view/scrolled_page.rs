//! Lines that scroll, and the place in them.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;

use super::key::ViewKey;

/// Content of a page; another content has other lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageContent {
    /// Details of the finding with an index.
    Details(usize),
    /// Advice on the type of the finding with an index.
    Advice(usize),
    Help,
    Recording,
}

/// Lines of the last drawn page, and the first one on the screen.
#[derive(Clone, Debug, Default)]
pub(super) struct ScrolledPage {
    lines: Vec<Line<'static>>,
    /// Content of `lines`, and the columns that they were made for.
    made_for: Option<(PageContent, u16)>,
    top: usize,
    page_rows: usize,
}

impl ScrolledPage {
    /// Scrolls to the first line.
    pub fn show_top(&mut self) {
        self.top = 0;
    }

    /// Makes the next drawing ask for the lines again.
    pub fn forget_lines(&mut self) {
        self.made_for = None;
    }

    /// Scrolls by a key.
    pub fn scroll(&mut self, key: ViewKey) {
        let page = self.page_rows.saturating_sub(1).max(1);
        let top = match key {
            ViewKey::Up | ViewKey::Character('k') => self.top.saturating_sub(1),
            ViewKey::Down | ViewKey::Character('j') => self.top + 1,
            ViewKey::PageUp => self.top.saturating_sub(page),
            ViewKey::PageDown | ViewKey::Character(' ') => self.top + page,
            ViewKey::Home => 0,
            ViewKey::End => usize::MAX,
            _ => self.top,
        };
        self.top = top.min(self.last_top());
    }

    fn last_top(&self) -> usize {
        self.lines.len().saturating_sub(self.page_rows)
    }

    /// Returns `12-34 of 80`; `None` if everything is on the screen.
    pub fn place_words(&self) -> Option<String> {
        let end = (self.top + self.page_rows).min(self.lines.len());
        (self.page_rows < self.lines.len())
            .then(|| format!("lines {}-{end} of {}", self.top + 1, self.lines.len()))
    }

    /// Draws the lines of `content` into `area`; `make_lines` makes them if they changed.
    pub fn draw(
        &mut self,
        area: Rect,
        buffer: &mut Buffer,
        content: PageContent,
        make_lines: impl FnOnce() -> Vec<Line<'static>>,
    ) {
        if self.made_for != Some((content, area.width)) {
            self.lines = make_lines();
            self.made_for = Some((content, area.width));
        }
        self.page_rows = usize::from(area.height);
        self.top = self.top.min(self.last_top());
        let lines = self.lines.iter().skip(self.top);
        for (y, line) in (area.y..area.bottom()).zip(lines) {
            buffer.set_line(area.x, y, line, area.width);
        }
    }
}
