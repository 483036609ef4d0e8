//! Pictures of cache lines: each byte has the letter of its member, capitals for members that are written.
//!
//! ```text
//!    +0 |aaaaaaaa|........|BBBB....|........|
//! ```

use std::ops::Range;

use ratatui_core::text::{Line, Span};

use super::document::ViewedMember;
use super::palette::{TextRole, ViewPalette};

/// Members that have a letter; others are dots in the picture.
const LETTERS_MAX: usize = 26;
/// Columns of the offset before a picture.
const OFFSET_COLUMNS: usize = 7;
/// Bytes between two bars.
const WORD_BYTES: usize = 8;
/// Most columns for a byte.
const BYTE_COLUMNS_MAX: usize = 2;
/// Bytes in a column from which on there are no bars between words.
const DENSE_BYTES: usize = 4;

/// A member with its letter.
#[derive(Clone, Copy)]
pub(super) struct LetteredMember<'r> {
    /// `None` for members beyond the first 26 by transfers.
    pub letter: Option<char>,
    pub member: &'r ViewedMember,
}

impl LetteredMember<'_> {
    fn overlaps(&self, bytes: &Range<i128>) -> bool {
        let start = i128::from(self.member.offset);
        start < bytes.end && bytes.start < start + i128::from(self.member.size)
    }

    /// Returns the letter; a dash where the picture has no room for the member.
    pub fn mark(&self) -> String {
        self.letter.unwrap_or('-').to_string()
    }

    pub fn role(&self) -> TextRole {
        match (self.member.writes, self.member.writers) {
            (0, _) => TextRole::ReadBytes,
            (_, 0 | 1) => TextRole::WrittenBytes,
            _ => TextRole::ContendedBytes,
        }
    }
}

/// Returns the members by offset. Those with the most transfers have letters.
pub(super) fn letter_members(members: &[ViewedMember]) -> Vec<LetteredMember<'_>> {
    let mut by_transfers: Vec<usize> = (0..members.len()).collect();
    by_transfers.sort_by_key(|&index| std::cmp::Reverse(members[index].transfers));
    by_transfers.truncate(LETTERS_MAX);
    let mut lettered: Vec<(usize, &ViewedMember)> = members.iter().enumerate().collect();
    lettered.sort_by_key(|(_, member)| member.offset);
    let mut letters = 'a'..='z';
    let with_letter = lettered.into_iter().map(|(index, member)| LetteredMember {
        letter: { by_transfers.contains(&index) }
            .then(|| letters.next())
            .flatten()
            .map(|letter| match member.writes {
                0 => letter,
                _ => letter.to_ascii_uppercase(),
            }),
        member,
    });
    with_letter.collect()
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

/// Returns the picture of the line that begins at the offset `first`; `None` if it does not fit `width`.
pub(super) fn line_picture(
    members: &[LetteredMember<'_>],
    first: i64,
    line_bytes: u32,
    width: usize,
    palette: ViewPalette,
) -> Option<Line<'static>> {
    let line_bytes = line_bytes as usize;
    let scale = PictureScale::fitting(line_bytes, width.checked_sub(OFFSET_COLUMNS + 3)?)?;
    let mut spans = vec![Span::raw(format!("{first:>+6} |"))];
    for byte in (0..line_bytes).step_by(scale.bytes) {
        let start = i128::from(first) + byte as i128;
        let bytes = start..start + scale.bytes.min(line_bytes - byte) as i128;
        let inside =
            { members.iter() }.filter(|member| member.letter.is_some() && member.overlaps(&bytes));
        // Where several members share a column, a written one is shown.
        let shown = inside
            .max_by_key(|member| (member.member.writes > 0, -i128::from(member.member.offset)));
        let (letter, role) = match shown {
            Some(shown) => (shown.letter.unwrap_or('.'), shown.role()),
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
