//! The window: a title, the list or a page or both, and a bottom line with keys.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::{Line, Span};
use relayout_contend::FindingKind;

use super::finding_details::DetailsContext;
use super::page_text::PageText;
use super::palette::TextRole;
use super::scrolled_page::PageContent;
use super::text_fit::{cut_text, fit_left, shown_text, text_width};
use super::{ReportView, ViewScreen, advice_page, help_page, list_pane, recording_page};
use crate::words::counted;

/// Smallest window that shows the report.
const WIDTH_MIN: u16 = 30;
const HEIGHT_MIN: u16 = 6;
/// Window from which on list and details stand side by side.
const SPLIT_WIDTH_MIN: u16 = 150;
/// Columns of the list beside the details.
const SPLIT_LIST_COLUMNS: u16 = 74;

impl ReportView {
    /// Draws the view into `area` of the buffer, whose cells are empty.
    pub fn render(&mut self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        if area.width < WIDTH_MIN || area.height < HEIGHT_MIN {
            self.draw_too_small(area, buffer);
            return;
        }
        let title = Line::styled(
            cut_text(&self.title(), area.width.into()),
            self.palette.style(TextRole::Heading),
        );
        buffer.set_line(area.x, area.y, &title, area.width);
        let main = Rect {
            y: area.y + 1,
            height: area.height - 2,
            ..area
        };
        self.draw_main(main, buffer);
        let bottom = self.bottom_line(area.width.into());
        buffer.set_line(area.x, area.bottom() - 1, &bottom, area.width);
    }

    fn draw_too_small(&self, area: Rect, buffer: &mut Buffer) {
        let words = [
            "Window too small".to_owned(),
            format!("{WIDTH_MIN}x{HEIGHT_MIN} needed"),
            "q quits".to_owned(),
        ];
        for (y, words) in (area.y..area.bottom()).zip(words) {
            buffer.set_stringn(
                area.x,
                y,
                words,
                area.width.into(),
                self.palette.style(TextRole::Plain),
            );
        }
    }

    fn draw_main(&mut self, area: Rect, buffer: &mut Buffer) {
        let content = self.page_content();
        let is_split = area.width >= SPLIT_WIDTH_MIN;
        let is_overlay = !matches!(content, None | Some(PageContent::Details(_)));
        match (content, is_split && !is_overlay, self.screen) {
            (Some(content), true, _) => {
                let list = Rect {
                    width: SPLIT_LIST_COLUMNS,
                    ..area
                };
                self.draw_list(list, buffer);
                for y in area.y..area.bottom() {
                    let style = self.palette.style(TextRole::Plain);
                    buffer.set_stringn(list.right(), y, "|", 1, style);
                }
                let page = Rect {
                    x: list.right() + 2,
                    width: area.width - SPLIT_LIST_COLUMNS - 2,
                    ..area
                };
                self.draw_page(page, buffer, content);
            }
            (_, false, ViewScreen::List | ViewScreen::Search) | (None, ..) => {
                self.draw_list(area, buffer);
            }
            (Some(content), false, _) => self.draw_page(area, buffer, content),
        }
    }

    fn draw_list(&mut self, area: Rect, buffer: &mut Buffer) {
        let findings = &self.report.findings;
        list_pane::draw_list(area, buffer, &mut self.list, findings, self.palette);
        if self.list.row_count() == 0 {
            let words = match findings.is_empty() {
                true => "No line of a known object was moved.",
                false => "No finding fits. Esc shows all.",
            };
            let style = self.palette.style(TextRole::Plain);
            buffer.set_stringn(
                area.x + 2,
                area.y + 1,
                words,
                usize::from(area.width) - 2,
                style,
            );
        }
    }

    /// Returns the page that is on the screen, or beside the list.
    fn page_content(&self) -> Option<PageContent> {
        let selected = self.list.selected_finding();
        match self.screen {
            ViewScreen::Help => Some(PageContent::Help),
            ViewScreen::Recording => Some(PageContent::Recording),
            ViewScreen::Advice => selected.map(PageContent::Advice),
            ViewScreen::List | ViewScreen::Search | ViewScreen::Details => {
                selected.map(PageContent::Details)
            }
        }
    }

    fn draw_page(&mut self, area: Rect, buffer: &mut Buffer, content: PageContent) {
        let Self {
            report,
            profile,
            palette,
            page,
            has_tree,
            sources,
            advice,
            ..
        } = self;
        page.draw(area, buffer, content, || {
            let mut text = PageText::new(area.width.into(), *palette);
            match content {
                PageContent::Help => help_page::write_help(&mut text),
                PageContent::Recording => recording_page::write_recording(&mut text, report),
                PageContent::Details(index) => DetailsContext {
                    report,
                    finding: &report.findings[index],
                    sources,
                    has_tree: *has_tree,
                }
                .write(&mut text),
                PageContent::Advice(index) => {
                    let finding = &report.findings[index];
                    let known = advice.get(advice_page::advised_type(finding));
                    let known = known.and_then(Option::as_deref);
                    advice_page::write_advice(&mut text, finding, profile, known);
                }
            }
            text.into_lines()
        });
    }

    fn title(&self) -> String {
        let machine = &self.report.machine;
        let release = match (machine.target.as_str(), machine.release.as_str()) {
            ("kernel", release) if !release.is_empty() => format!(" on Linux {release}"),
            _ => String::new(),
        };
        let noun = self.report.context_noun().singular();
        let title = format!(
            "relayout view: {}{release}, {}, {}",
            self.report.workload,
            counted(machine.contexts.into(), noun),
            counted(self.report.transfers_total, "transfer"),
        );
        shown_text(&title).into_owned()
    }

    /// Returns the keys of the screen, and at the right the place in the list or page.
    fn bottom_line(&self, width: usize) -> Line<'static> {
        if self.screen == ViewScreen::Search {
            return self.search_line(width);
        }
        let place = self.place_words();
        let room = width.saturating_sub(text_width(&place) + 1);
        let key_style = self.palette.style(TextRole::Key);
        let mut spans = Vec::new();
        let mut columns = 0;
        for (key, words) in self.key_words() {
            let wanted = text_width(&key) + 1 + text_width(&words) + 2;
            if columns + wanted > room + 2 {
                break;
            }
            columns += wanted;
            spans.push(Span::styled(key, key_style));
            spans.push(Span::raw(format!(" {words}  ")));
        }
        spans.push(Span::raw(
            " ".repeat((width - text_width(&place)).saturating_sub(columns)),
        ));
        spans.push(Span::styled(place, self.palette.style(TextRole::Heading)));
        Line::from(spans)
    }

    fn search_line(&self, width: usize) -> Line<'static> {
        let count = counted(self.list.row_count() as u64, "finding");
        let keys = "Enter keeps, Esc clears";
        let start = format!("Search: {}_", shown_text(&self.list.search));
        let end = format!("{count}  {keys}");
        let room = width.saturating_sub(text_width(&end) + 2);
        match room >= 12 {
            // The end of a long text is what is being typed.
            true => Line::from(format!("{}  {end}", fit_left(tail(&start, room), room))),
            false => Line::from(tail(&start, width).to_owned()),
        }
    }

    fn place_words(&self) -> String {
        let rows = self.list.row_count();
        let row = self.list.selected_number().min(rows);
        match self.screen {
            ViewScreen::List | ViewScreen::Search => {
                let all = match self.list.has_conditions() {
                    true => format!(" (all: {})", self.report.findings.len()),
                    false => String::new(),
                };
                format!("{row} of {rows}{all}")
            }
            ViewScreen::Details | ViewScreen::Help | ViewScreen::Recording | ViewScreen::Advice => {
                self.page.place_words().unwrap_or_default()
            }
        }
    }

    fn key_words(&self) -> Vec<(String, String)> {
        let key = |key: &str, words: &str| (key.to_owned(), words.to_owned());
        match self.screen {
            ViewScreen::List | ViewScreen::Search => {
                let kind = { self.list.kind }.map_or("all kinds", FindingKind::as_str);
                let search = match self.list.search.is_empty() {
                    true => "search".to_owned(),
                    false => format!("'{}'", cut_text(&shown_text(&self.list.search), 12)),
                };
                let mut keys = vec![
                    key("q", "quit"),
                    key("?", "help"),
                    key("Enter", "details"),
                    key("/", &search),
                    key("s", &format!("by {}", self.list.order.words())),
                    key("f", &shown_text(kind)),
                ];
                if self.list.is_saving_only {
                    keys.push(key("w", "with saving"));
                }
                keys
            }
            ViewScreen::Details => vec![
                key("q", "quit"),
                key("?", "help"),
                key("Esc", "list"),
                key("n/p", "next/previous"),
                key("a", "advice"),
            ],
            ViewScreen::Help | ViewScreen::Recording | ViewScreen::Advice => {
                vec![
                    key("q", "quit"),
                    key("Esc", "back"),
                    key("up/down", "scroll"),
                ]
            }
        }
    }
}

/// Returns the end of a text that fits `width` columns.
fn tail(text: &str, width: usize) -> &str {
    let mut starts = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let start = starts.find(|&at| text_width(&text[at..]) <= width);
    &text[start.unwrap_or(text.len())..]
}
