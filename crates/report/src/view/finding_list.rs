//! The list of findings: which are shown, in which order, and which is selected.

use relayout_contend::FindingKind;

use crate::documents::report::finding::FindingDocument;

/// Order of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListOrder {
    Rank,
    Saving,
    FalseLifetime,
    Upgrades,
    Name,
}

impl ListOrder {
    const ALL: [Self; 5] = [
        Self::Rank,
        Self::Saving,
        Self::FalseLifetime,
        Self::Upgrades,
        Self::Name,
    ];

    pub fn words(self) -> &'static str {
        match self {
            Self::Rank => "rank",
            Self::Saving => "saving",
            Self::FalseLifetime => "false",
            Self::Upgrades => "upgrades",
            Self::Name => "name",
        }
    }

    fn next(self) -> Self {
        let index = Self::ALL.iter().position(|&order| order == self);
        Self::ALL[(index.unwrap_or(0) + 1) % Self::ALL.len()]
    }
}

/// Rows of the list, and the selected row.
#[derive(Clone, Debug)]
pub(super) struct FindingList {
    pub order: ListOrder,
    /// Kind of the findings that are shown; `None` for all.
    pub kind: Option<FindingKind>,
    /// True if only findings with a saving are shown.
    pub is_saving_only: bool,
    pub search: String,
    /// Kinds of the report, the most frequent first.
    kinds: Vec<FindingKind>,
    /// Texts to search in, by index of the finding; empty before the first search.
    search_texts: Vec<String>,
    /// Indexes of findings.
    rows: Vec<usize>,
    /// Index of the selected row.
    selected: usize,
    /// Index of the first row on the screen.
    top: usize,
    /// Rows that the screen had room for.
    page_rows: usize,
}

impl FindingList {
    pub fn new(findings: &[FindingDocument]) -> Self {
        let mut kinds: Vec<(usize, FindingKind)> = Vec::new();
        for finding in findings {
            match kinds.iter_mut().find(|(_, kind)| *kind == finding.kind) {
                Some((count, _)) => *count += 1,
                None => kinds.push((1, finding.kind)),
            }
        }
        kinds.sort_by_key(|&(count, _)| std::cmp::Reverse(count));
        Self {
            order: ListOrder::Rank,
            kind: None,
            is_saving_only: false,
            search: String::new(),
            kinds: kinds.into_iter().map(|(_, kind)| kind).collect(),
            search_texts: Vec::new(),
            rows: (0..findings.len()).collect(),
            selected: 0,
            top: 0,
            page_rows: 1,
        }
    }

    /// Returns the number of findings in the list.
    pub fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// Returns the index of the selected finding; `None` if the list is empty.
    pub fn selected_finding(&self) -> Option<usize> {
        self.rows.get(self.selected).copied()
    }

    /// Returns the number of the selected row, from 1.
    pub fn selected_number(&self) -> usize {
        self.selected + 1
    }

    /// Returns the indexes of the findings on a screen with room for `page_rows`, and whether each is selected.
    pub fn rows_on_screen(&mut self, page_rows: usize) -> impl Iterator<Item = (usize, bool)> {
        self.page_rows = page_rows.max(1);
        let last_top = self.rows.len().saturating_sub(self.page_rows);
        let earliest_top = (self.selected + 1).saturating_sub(self.page_rows);
        self.top = self.top.clamp(earliest_top, self.selected).min(last_top);
        let rows = self.rows.iter().enumerate().skip(self.top).take(page_rows);
        rows.map(|(row, &finding)| (finding, row == self.selected))
    }

    /// Moves the selection by a number of rows; it stays in the list.
    pub fn move_selection(&mut self, rows: isize) {
        let last = self.rows.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(rows).min(last);
    }

    /// Moves the selection by pages.
    pub fn move_pages(&mut self, pages: isize) {
        let rows = isize::try_from(self.page_rows).unwrap_or(isize::MAX);
        self.move_selection(pages.saturating_mul(rows));
    }

    pub fn use_next_order(&mut self, findings: &[FindingDocument]) {
        self.order = self.order.next();
        self.choose_rows(findings);
    }

    pub fn use_next_kind(&mut self, findings: &[FindingDocument]) {
        let index =
            { self.kind }.and_then(|shown| self.kinds.iter().position(|kind| *kind == shown));
        let next = index.map_or(0, |index| index + 1);
        self.kind = self.kinds.get(next).copied();
        self.choose_rows(findings);
    }

    /// Removes the conditions that hide findings. Returns false if there were none.
    pub fn show_all(&mut self, findings: &[FindingDocument]) -> bool {
        let had_conditions = self.has_conditions();
        self.kind = None;
        self.is_saving_only = false;
        self.search.clear();
        self.choose_rows(findings);
        had_conditions
    }

    pub fn has_conditions(&self) -> bool {
        self.kind.is_some() || self.is_saving_only || !self.search.is_empty()
    }

    /// Chooses and sorts the rows. The selected finding stays selected if it is still in the list.
    pub fn choose_rows(&mut self, findings: &[FindingDocument]) {
        let selected = self.selected_finding();
        let search = self.search.to_lowercase();
        if !search.is_empty() && self.search_texts.is_empty() {
            self.search_texts = findings.iter().map(FindingDocument::search_text).collect();
        }
        let is_shown = |&index: &usize| {
            let finding = &findings[index];
            self.kind.is_none_or(|kind| kind == finding.kind)
                && (!self.is_saving_only || finding.saving.is_some())
                && (search.is_empty() || self.search_texts[index].contains(&search))
        };
        let mut rows: Vec<usize> = (0..findings.len()).filter(is_shown).collect();
        match self.order {
            ListOrder::Rank => {}
            ListOrder::Saving => rows.sort_by(|&a, &b| {
                let saving = |index: usize| findings[index].saving.as_ref();
                let transfers = |index| saving(index).map_or(-1.0, |saving| saving.transfers);
                transfers(b).total_cmp(&transfers(a))
            }),
            ListOrder::FalseLifetime => {
                rows.sort_by_key(|&row| std::cmp::Reverse(findings[row].false_lifetime));
            }
            ListOrder::Upgrades => {
                rows.sort_by_key(|&row| std::cmp::Reverse(findings[row].upgrades));
            }
            ListOrder::Name => rows.sort_by_key(|&row| findings[row].subject().to_lowercase()),
        }
        let kept = rows.iter().position(|&row| Some(row) == selected);
        self.rows = rows;
        self.selected = kept.unwrap_or(0);
    }
}
