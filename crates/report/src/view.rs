//! The report as a terminal application, without a terminal: keys in, cells of a buffer out.
//!
//! [`ReportView`] holds the document of `report --json` and the state of the screen. `relayout view` reads keys, hands
//! them to [`ReportView::update`], and draws what [`ReportView::render`] put into a buffer. Source lines and advice are
//! files of the user: the view names what it misses, and the command reads that.
//!
//! ```
//! use ratatui_core::buffer::Buffer;
//! use ratatui_core::layout::Rect;
//! use relayout_report::view::{ReportView, ViewKey, ViewOutcome, ViewPalette};
//! use relayout_report::documents::report;
//! use relayout_report::{FindingSelection, ReportContents};
//!
//! # fn main() -> Result<(), serde_json::Error> {
//! let document = report::render(&ReportContents {
//!     profile: "out.relayout",
//!     meta: &relayout_profile::ProfileMeta::default(),
//!     findings: &relayout_contend::Findings::default(),
//!     selection: &FindingSelection::default(),
//!     production: None,
//!     judgements: None,
//!     sources: &[],
//!     layouts: &[],
//!     freed: &[],
//! })?;
//! let mut view = ReportView::from_json(&document, "out.relayout", ViewPalette::Plain)?;
//! let mut buffer = Buffer::empty(Rect::new(0, 0, 80, 24));
//! view.render(buffer.area, &mut buffer);
//! assert_eq!(view.update(ViewKey::Character('q')), ViewOutcome::Quit);
//! # Ok(())
//! # }
//! ```

mod advice_page;
mod finding_details;
mod finding_list;
mod help_page;
mod key;
mod line_picture;
mod list_pane;
mod page_text;
mod palette;
mod recording_page;
mod scrolled_page;
mod text_fit;
mod window;

use std::collections::BTreeMap;

use relayout_session::SourceFile;

use crate::documents::report::ReportDocument;
use crate::documents::report::finding::FindingDocument;
use finding_details::{SourceMap, excerpt_positions};
use finding_list::FindingList;
use scrolled_page::ScrolledPage;

pub use key::{ViewKey, ViewOutcome};
pub use palette::ViewPalette;

/// Screen that keys act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ViewScreen {
    List,
    /// The bottom line asks for the text to search.
    Search,
    Details,
    Help,
    Recording,
    Advice,
}

/// The report, and the state of its screen.
#[derive(Clone, Debug)]
pub struct ReportView {
    report: ReportDocument,
    /// Path of the profile, as the user named it.
    profile: String,
    palette: ViewPalette,
    list: FindingList,
    screen: ViewScreen,
    /// Screen below the help, the recording and the advice.
    previous_screen: ViewScreen,
    page: ScrolledPage,
    has_tree: bool,
    sources: SourceMap,
    /// Advice by type; `None` where there is none yet.
    advice: BTreeMap<String, Option<String>>,
}

impl ReportView {
    /// Reads the document of `report --json`. `profile` is the path in the commands that the view names.
    ///
    /// # Errors
    /// The text is not such a document.
    pub fn from_json(
        document: &str,
        profile: &str,
        palette: ViewPalette,
    ) -> Result<Self, serde_json::Error> {
        let report: ReportDocument = serde_json::from_str(document)?;
        Ok(Self {
            list: FindingList::new(&report.findings),
            report,
            profile: profile.to_owned(),
            palette,
            screen: ViewScreen::List,
            previous_screen: ViewScreen::List,
            page: ScrolledPage::default(),
            has_tree: false,
            sources: SourceMap::new(),
            advice: BTreeMap::new(),
        })
    }

    /// Makes details show source lines, which [`missing_sources`](Self::missing_sources) asks for.
    pub fn show_source(&mut self) {
        self.has_tree = true;
    }

    /// Returns the files, as the debug information names them, that the details need and do not have yet.
    pub fn missing_sources(&self) -> Vec<String> {
        let Some(finding) = self.selected_finding().filter(|_| self.has_tree) else {
            return Vec::new();
        };
        let positions = excerpt_positions(finding).into_iter();
        let mut files: Vec<String> = positions.map(|(file, _)| file).collect();
        files.sort();
        files.dedup();
        files.retain(|file| !self.sources.contains_key(file));
        files
    }

    /// Adds the file that the debug information calls `name`; `None` if the tree has none.
    pub fn add_source(&mut self, name: String, source: Option<SourceFile>) {
        self.sources.insert(name, source);
        self.page.forget_lines();
    }

    /// Returns the type whose advice is on the screen and has not been looked up yet.
    pub fn missing_advice(&self) -> Option<&str> {
        let finding = { self.selected_finding() }.filter(|_| self.screen == ViewScreen::Advice)?;
        let type_name = advice_page::advised_type(finding);
        (!self.advice.contains_key(type_name)).then_some(type_name)
    }

    /// Adds what `relayout advise` printed about a type; `None` if it has not run.
    pub fn add_advice(&mut self, type_name: &str, text: Option<String>) {
        self.advice.insert(type_name.to_owned(), text);
        self.page.forget_lines();
    }

    /// Acts on a key.
    pub fn update(&mut self, key: ViewKey) -> ViewOutcome {
        match self.screen {
            ViewScreen::Search => self.edit_search(key),
            _ if key == ViewKey::Character('q') => return ViewOutcome::Quit,
            ViewScreen::List => self.update_list(key),
            ViewScreen::Details => self.update_details(key),
            ViewScreen::Help | ViewScreen::Recording | ViewScreen::Advice => {
                self.update_overlay(key);
            }
        }
        ViewOutcome::Stay
    }

    fn selected_finding(&self) -> Option<&FindingDocument> {
        let index = self.list.selected_finding()?;
        self.report.findings.get(index)
    }

    fn update_list(&mut self, key: ViewKey) {
        match key {
            ViewKey::Enter | ViewKey::Tab | ViewKey::Right if self.list.row_count() > 0 => {
                self.screen = ViewScreen::Details;
            }
            ViewKey::Escape => {
                self.list.show_all(&self.report.findings);
            }
            ViewKey::Character('/') => self.screen = ViewScreen::Search,
            ViewKey::Character('s') => self.list.use_next_order(&self.report.findings),
            ViewKey::Character('f') => self.list.use_next_kind(&self.report.findings),
            ViewKey::Character('w') => {
                self.list.is_saving_only = !self.list.is_saving_only;
                self.list.choose_rows(&self.report.findings);
            }
            _ if self.opens_overlay(key) => return,
            _ => self.move_selection(key),
        }
        self.page.show_top();
    }

    fn move_selection(&mut self, key: ViewKey) {
        match key {
            ViewKey::Up | ViewKey::Character('k') => self.list.move_selection(-1),
            ViewKey::Down | ViewKey::Character('j') => self.list.move_selection(1),
            ViewKey::PageUp => self.list.move_pages(-1),
            ViewKey::PageDown => self.list.move_pages(1),
            ViewKey::Home => self.list.move_selection(isize::MIN),
            ViewKey::End => self.list.move_selection(isize::MAX),
            _ => {}
        }
    }

    /// Opens the help, the recording or the advice. Returns false for any other key.
    fn opens_overlay(&mut self, key: ViewKey) -> bool {
        let screen = match key {
            ViewKey::Character('?') => ViewScreen::Help,
            ViewKey::Character('i') => ViewScreen::Recording,
            ViewKey::Character('a') if self.list.row_count() > 0 => ViewScreen::Advice,
            _ => return false,
        };
        self.previous_screen = self.screen;
        self.screen = screen;
        self.page.show_top();
        true
    }

    fn edit_search(&mut self, key: ViewKey) {
        match key {
            ViewKey::Character(c) => self.list.search.push(c),
            ViewKey::Backspace => {
                self.list.search.pop();
            }
            ViewKey::Escape => {
                self.list.search.clear();
                self.screen = ViewScreen::List;
            }
            ViewKey::Enter | ViewKey::Tab => self.screen = ViewScreen::List,
            _ => self.move_selection(key),
        }
        if matches!(
            key,
            ViewKey::Character(_) | ViewKey::Backspace | ViewKey::Escape
        ) {
            self.list.choose_rows(&self.report.findings);
        }
        self.page.show_top();
    }

    fn update_details(&mut self, key: ViewKey) {
        match key {
            ViewKey::Escape | ViewKey::Enter | ViewKey::Tab | ViewKey::Backspace => {
                self.screen = ViewScreen::List;
            }
            ViewKey::Character('n') | ViewKey::Right => {
                self.list.move_selection(1);
                self.page.show_top();
            }
            ViewKey::Character('p') | ViewKey::Left => {
                self.list.move_selection(-1);
                self.page.show_top();
            }
            _ if self.opens_overlay(key) => {}
            _ => self.page.scroll(key),
        }
    }

    fn update_overlay(&mut self, key: ViewKey) {
        match key {
            ViewKey::Up | ViewKey::Down | ViewKey::PageUp | ViewKey::PageDown => {
                self.page.scroll(key);
            }
            ViewKey::Home | ViewKey::End | ViewKey::Character('j' | 'k' | ' ') => {
                self.page.scroll(key);
            }
            _ => {
                self.screen = self.previous_screen;
                self.page.show_top();
            }
        }
    }
}
