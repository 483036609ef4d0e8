//! The list of findings on the screen: a head, and a row for each finding.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::{Line, Span};

use super::finding_list::FindingList;
use super::palette::{TextRole, ViewPalette};
use super::text_fit::{fit_left, fit_right, shown_text};
use crate::documents::report::finding::FindingDocument;
use crate::words::percent::percent;

/// Columns of a row's mark.
const MARK_COLUMNS: usize = 2;
/// Columns of the name in any window.
const NAME_COLUMNS_MIN: usize = 12;
/// Columns of names that are kept before further columns are shown.
const NAME_COLUMNS_GOOD: usize = 30;

/// A column of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListColumn {
    Rank,
    Transfers,
    Share,
    FalseLifetime,
    Upgrades,
    Saving,
    Kind,
    Name,
}

impl ListColumn {
    /// Columns in the order of the screen, with the order in which narrow windows keep them.
    const ALL: [(Self, usize); 8] = [
        (Self::Rank, 1),
        (Self::Transfers, 2),
        (Self::Share, 4),
        (Self::FalseLifetime, 6),
        (Self::Upgrades, 7),
        (Self::Saving, 5),
        (Self::Kind, 3),
        (Self::Name, 0),
    ];

    /// Columns with the space before, except for the name, which takes what is left.
    fn width(self) -> usize {
        match self {
            Self::Rank => 5,
            Self::Transfers => 10,
            Self::Share => 7,
            Self::FalseLifetime => 10,
            Self::Upgrades => 10,
            Self::Saving => 8,
            Self::Kind => 15,
            Self::Name => NAME_COLUMNS_MIN,
        }
    }

    fn head(self) -> &'static str {
        match self {
            Self::Rank => "Rank",
            Self::Transfers => "Transfers",
            Self::Share => "Share",
            Self::FalseLifetime => "False",
            Self::Upgrades => "Upgrades",
            Self::Saving => "Saving",
            Self::Kind => "Kind",
            Self::Name => "Type or variable, line",
        }
    }

    fn cell(self, finding: &FindingDocument) -> String {
        match self {
            Self::Rank => finding.rank.to_string(),
            Self::Transfers => finding.transfers.to_string(),
            Self::Share => percent(finding.share),
            Self::FalseLifetime => finding.false_lifetime.to_string(),
            Self::Upgrades => finding.upgrades.to_string(),
            Self::Saving => { finding.saving.as_ref() }.map_or_else(
                || "-".to_owned(),
                |saving| format!("{:.0}", saving.transfers),
            ),
            Self::Kind => finding.kind.as_str().to_owned(),
            Self::Name => format!("{} {}", shown_text(finding.subject()), finding.line_words()),
        }
    }

    fn is_number(self) -> bool {
        !matches!(self, Self::Kind | Self::Name)
    }

    /// Returns the text in the column; words follow their numbers after a gap.
    fn fitted(self, text: &str, width: usize) -> String {
        match self.is_number() {
            true => fit_right(text, width),
            false => format!(" {}", fit_left(text, width.saturating_sub(1))),
        }
    }
}

/// Returns the columns that fit `width`, each with its width.
fn fitting_columns(width: usize) -> Vec<(ListColumn, usize)> {
    let mut by_need = ListColumn::ALL;
    by_need.sort_by_key(|&(_, need)| need);
    let mut room = width.saturating_sub(MARK_COLUMNS + NAME_COLUMNS_MIN);
    let mut chosen = vec![ListColumn::Name];
    for &(column, need) in &by_need[1..] {
        // The last columns are for windows in which names have enough room without them.
        let kept = if need > 3 {
            NAME_COLUMNS_GOOD - NAME_COLUMNS_MIN
        } else {
            0
        };
        if column.width() + kept > room {
            break;
        }
        room -= column.width();
        chosen.push(column);
    }
    let shown = ListColumn::ALL.map(|(column, _)| column);
    let shown = shown.into_iter().filter(|column| chosen.contains(column));
    let with_width = shown.map(|column| match column {
        ListColumn::Name => (column, NAME_COLUMNS_MIN + room),
        column => (column, column.width()),
    });
    with_width.collect()
}

/// Draws the list into `area`: the head of the table, and as many rows as fit.
pub(super) fn draw_list(
    area: Rect,
    buffer: &mut Buffer,
    list: &mut FindingList,
    findings: &[FindingDocument],
    palette: ViewPalette,
) {
    let columns = fitting_columns(usize::from(area.width));
    let head: String = { columns.iter() }
        .map(|&(column, width)| column.fitted(column.head(), width))
        .collect();
    let style = palette.style(TextRole::Heading);
    buffer.set_line(
        area.x,
        area.y,
        &Line::styled(format!("  {head}"), style),
        area.width,
    );
    let rows = area.height.saturating_sub(1);
    for (y, (index, is_selected)) in (area.y + 1..).zip(list.rows_on_screen(rows.into())) {
        let row = finding_row(&findings[index], &columns, is_selected, palette);
        buffer.set_line(area.x, y, &row, area.width);
    }
}

fn finding_row(
    finding: &FindingDocument,
    columns: &[(ListColumn, usize)],
    is_selected: bool,
    palette: ViewPalette,
) -> Line<'static> {
    let mark = if is_selected { "> " } else { "  " };
    let mut spans = vec![Span::raw(mark)];
    for &(column, width) in columns {
        let text = column.fitted(&column.cell(finding), width);
        let role = match column {
            ListColumn::Kind if !is_selected => ViewPalette::kind_role(finding.kind),
            _ => TextRole::Plain,
        };
        spans.push(Span::styled(text, palette.style(role)));
    }
    let row = Line::from(spans);
    match is_selected {
        true => row.style(palette.style(TextRole::Selected)),
        false => row,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_fit_any_window() {
        for width in 0..300 {
            let columns = fitting_columns(width);
            let total: usize = columns.iter().map(|(_, columns)| columns).sum();
            assert!(total + MARK_COLUMNS <= width.max(MARK_COLUMNS + NAME_COLUMNS_MIN));
        }
        assert_eq!(fitting_columns(200).len(), ListColumn::ALL.len());
    }
}
