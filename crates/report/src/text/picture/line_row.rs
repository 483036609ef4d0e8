//! A line of a finding: a row whose boxes are the members to scale.

use relayout_contend::finding::FindingMember;

use super::super::access_words::shown_name;
use super::super::finding_words::member_uses;
use super::canvas::{MARGIN, PictureArea, SvgCanvas, TextStyle, WIDTH, text_width};
use crate::words::{ContextNoun, counted};

/// Space for the offset of a line.
const OFFSET_WIDTH: f64 = 56.0;
const ROW_HEIGHT: f64 = 34.0;
/// Bytes between two numbers of the ruler.
const RULER_BYTES: u32 = 8;
/// Shortest part of a name that is worth showing.
const NAME_PART_MIN: usize = 4;

/// Use of a member, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemberUse {
    OnlyRead,
    WrittenByOne,
    WrittenBySeveral,
    NotCounted,
    NotAccessed,
}

impl MemberUse {
    pub fn from_counts(member: &FindingMember) -> Self {
        match (member.writes, member.writers(), member.reads) {
            (1.., 2.., _) => Self::WrittenBySeveral,
            (1.., ..) => Self::WrittenByOne,
            (0, _, 1..) => Self::OnlyRead,
            (0, _, 0) => Self::NotCounted,
        }
    }

    /// Returns the colour; as in `page/page.css`, on a light page.
    pub fn fill(self) -> &'static str {
        match self {
            Self::OnlyRead => "#56b4e9",
            Self::WrittenByOne => "#e69f00",
            Self::WrittenBySeveral => "#e0701a",
            Self::NotCounted => "#e3e6ea",
            Self::NotAccessed => "url(#hatch)",
        }
    }

    pub fn border_width(self) -> f64 {
        match self {
            Self::OnlyRead | Self::NotCounted | Self::NotAccessed => 0.5,
            Self::WrittenByOne => 1.5,
            Self::WrittenBySeveral => 3.0,
        }
    }
}

/// Draws the numbers of bytes above the lines of a finding.
pub(super) fn draw_ruler(canvas: &mut SvgCanvas, line_bytes: u32) {
    let base = canvas.top() + 13.0;
    for byte in (0..line_bytes).step_by(RULER_BYTES as usize) {
        let left = byte_left(byte.into(), line_bytes);
        canvas.add_text(left, base, &byte.to_string(), TextStyle::Listed);
    }
    canvas.add_space(17.0);
}

/// Draws the line at `line` bytes from the beginning of the object.
pub(super) fn draw_line(
    canvas: &mut SvgCanvas,
    members: &[FindingMember],
    line: i64,
    line_bytes: u32,
    noun: ContextNoun,
) {
    let end = line + i64::from(line_bytes);
    let mut inside: Vec<&FindingMember> = { members.iter() }
        .filter(|member| member.offset < end && member_end(member) > line)
        .collect();
    inside.sort_by_key(|member| member.offset);
    let words: Vec<String> = { inside.iter() }
        .map(|member| format!("{}, {}", member_label(member), member_uses(member, noun)))
        .collect();
    let words = match words.is_empty() {
        true => "no member that was accessed".to_owned(),
        false => words.join("; "),
    };
    canvas.begin_group(&format!("Bytes {line} to {}: {words}", end - 1));
    let top = canvas.top();
    canvas.add_text(
        MARGIN,
        top + ROW_HEIGHT / 2.0 + 4.0,
        &format!("{line:+}"),
        TextStyle::Listed,
    );
    canvas.add_box(
        MemberUse::NotAccessed,
        byte_area(top, 0, line_bytes.into(), line_bytes),
    );
    for member in inside {
        let from = (member.offset - line).max(0);
        let to = (member_end(member) - line).min(line_bytes.into());
        draw_member(canvas, member, byte_area(top, from, to, line_bytes));
    }
    canvas.end_group();
    canvas.add_space(ROW_HEIGHT + 4.0);
}

fn draw_member(canvas: &mut SvgCanvas, member: &FindingMember, area: PictureArea) {
    canvas.begin_tip(&member_label(member));
    canvas.add_box(MemberUse::from_counts(member), area);
    if let Some(name) = fitting_name(shown_name(&member.name), area.width - 8.0) {
        let base = area.top + ROW_HEIGHT / 2.0 + 4.0;
        canvas.add_text(area.left + 4.0, base, &name, TextStyle::Listed);
    }
    canvas.end_group();
}

/// `d_lockref.lock_count at 88, 8 bytes`
pub(super) fn member_label(member: &FindingMember) -> String {
    format!(
        "{} at {}, {}",
        shown_name(&member.name),
        member.offset,
        counted(member.size, "byte")
    )
}

fn member_end(member: &FindingMember) -> i64 {
    member
        .offset
        .saturating_add_unsigned(member.size.min(i64::MAX as u64))
}

/// Returns the name, or its end behind an ellipsis, if that fits.
fn fitting_name(name: &str, width: f64) -> Option<String> {
    let name = crate::escape::escape_text(name);
    if text_width(&name) <= width {
        return Some(name.into_owned());
    }
    let fitting = (width / text_width("x")) as usize;
    let kept = fitting
        .checked_sub(1)
        .filter(|&kept| kept >= NAME_PART_MIN)?;
    let skipped = name.chars().count() - kept;
    // The end of a path says more than its beginning.
    Some(["…".to_owned(), name.chars().skip(skipped).collect()].concat())
}

fn byte_area(top: f64, from: i64, to: i64, line_bytes: u32) -> PictureArea {
    let left = byte_left(from, line_bytes);
    PictureArea {
        left,
        top,
        width: byte_left(to, line_bytes) - left,
        height: ROW_HEIGHT,
    }
}

fn byte_left(byte: i64, line_bytes: u32) -> f64 {
    let row_width = WIDTH - 2.0 * MARGIN - OFFSET_WIDTH;
    MARGIN + OFFSET_WIDTH + row_width * byte as f64 / f64::from(line_bytes.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_or_are_left_out() {
        let width = text_width("12345678");
        assert_eq!(fitting_name("lock", width).as_deref(), Some("lock"));
        assert_eq!(
            fitting_name("mmap_lock.owner", width).as_deref(),
            Some("…k.owner")
        );
        assert_eq!(fitting_name("mmap_lock", text_width("1234")), None);
        assert_eq!(fitting_name("mmap_lock", -3.0), None);
    }

    #[test]
    fn a_member_has_the_width_of_its_bytes() {
        let word = byte_area(0.0, 8, 16, 64);
        let line = byte_area(0.0, 0, 64, 64);
        assert!((word.width * 8.0 - line.width).abs() < 1e-9);
        assert!((line.left + line.width - (WIDTH - MARGIN)).abs() < 1e-9);
    }
}
