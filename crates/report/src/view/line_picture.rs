//! Pictures of cache lines: each byte has the letter of its member, capitals for members that are written.
//!
//! ```text
//!    +0 |aaaaaaaa|........|BBBB....|........|
//! ```

use ratatui_core::text::{Line, Span};

use super::palette::{TextRole, ViewPalette};
use crate::documents::report::finding::MemberDocument;
use crate::documents::report::line_rows::{LetteredMember, LineRow, MemberUse};

/// Columns of the offset before a picture.
const OFFSET_COLUMNS: usize = 7;
/// Bytes between two bars.
const WORD_BYTES: usize = 8;
/// Most columns for a byte.
const BYTE_COLUMNS_MAX: usize = 2;
/// Bytes in a column from which on there are no bars between words.
const DENSE_BYTES: usize = 4;

/// Returns the letter of a member; a dash where the picture has no room for it.
pub(super) fn letter_mark(lettered: &LetteredMember<'_>) -> String {
    lettered.letter.unwrap_or('-').to_string()
}

/// Returns the role of a member's bytes.
pub(super) fn member_role(member: &MemberDocument) -> TextRole {
    match member.member_use() {
        MemberUse::WrittenBySeveral => TextRole::ContendedBytes,
        MemberUse::WrittenByOne => TextRole::WrittenBytes,
        MemberUse::OnlyRead | MemberUse::NotCounted | MemberUse::NotAccessed => TextRole::ReadBytes,
    }
}

/// Scale of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PictureScale {
    /// Bytes of a column, at least 1.
    bytes: usize,
    /// Columns of a byte, at least 1.
    columns: usize,
}

impl PictureScale {
    /// Returns the largest scale at which a line fits `columns`.
    fn fitting(line_bytes: usize, columns: usize) -> Option<Self> {
        let wide = (1..=BYTE_COLUMNS_MAX)
            .rev()
            .map(|columns| Self { bytes: 1, columns });
        let dense = (1..32).map(|power| Self {
            bytes: 1 << power,
            columns: 1,
        });
        wide.chain(dense)
            .find(|scale| scale.width(line_bytes) <= columns)
    }

    fn width(self, line_bytes: usize) -> usize {
        let bars = match self.has_bars() {
            true => line_bytes.div_ceil(WORD_BYTES) + 1,
            false => 2,
        };
        line_bytes.div_ceil(self.bytes).saturating_mul(self.columns) + bars
    }

    fn has_bars(self) -> bool {
        self.bytes < DENSE_BYTES
    }
}

/// Returns the picture of a line; `None` if it does not fit `width`.
pub(super) fn line_picture(
    row: &LineRow<'_>,
    line_bytes: u32,
    width: usize,
    palette: ViewPalette,
) -> Option<Line<'static>> {
    let line_bytes = line_bytes as usize;
    let scale = PictureScale::fitting(line_bytes, width.checked_sub(OFFSET_COLUMNS + 3)?)?;
    let mut spans = vec![Span::raw(format!("{:>+6} |", row.offset))];
    for byte in (0..line_bytes).step_by(scale.bytes) {
        let inside = row.lettered_at(byte..line_bytes.min(byte + scale.bytes));
        // Where several members share a column, a written one is shown.
        let shown = inside.max_by_key(|(letter, member)| {
            let order = letter.to_ascii_lowercase();
            (member.writes > 0, -i128::from(member.offset), order)
        });
        let (letter, role) = match shown {
            Some((letter, member)) => (letter, member_role(member)),
            None => ('.', TextRole::Plain),
        };
        let cells = letter.to_string().repeat(scale.columns);
        spans.push(Span::styled(cells, palette.style(role)));
        let end = byte + scale.bytes;
        if end >= line_bytes || (scale.has_bars() && end % WORD_BYTES == 0) {
            spans.push(Span::raw("|"));
        }
    }
    Some(Line::from(spans))
}
