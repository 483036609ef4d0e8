//! A line of a finding: a row whose boxes are the members to scale.

use crate::documents::report::finding::MemberDocument;
use crate::documents::report::line_rows::{LetteredMember, LineRow, MemberUse};
use crate::exports::svg::canvas::{MARGIN, PictureArea, SvgCanvas, TextStyle, WIDTH, text_width};
use crate::words::access::shown_name;
use crate::words::finding::member_uses;
use crate::words::{ContextNoun, counted};

/// Space for the offset of a line.
const OFFSET_WIDTH: f64 = 56.0;
const ROW_HEIGHT: f64 = 34.0;
/// Bytes between two numbers of the ruler.
const RULER_BYTES: u32 = 8;
/// Space left and right of a name in a box.
const NAME_MARGIN: f64 = 4.0;
/// Height of a member that shares its bytes with another.
const STRIP_HEIGHT: f64 = 8.0;

/// Returns the colour of a member; as in `page/page.css`, on a light page.
pub(crate) fn fill(member_use: MemberUse) -> &'static str {
    match member_use {
        MemberUse::OnlyRead => "#56b4e9",
        MemberUse::WrittenByOne => "#e69f00",
        MemberUse::WrittenBySeveral => "#e0701a",
        MemberUse::NotCounted => "#e3e6ea",
        MemberUse::NotAccessed => "url(#hatch)",
    }
}

/// Returns the width of the border of a member.
pub(crate) fn border_width(member_use: MemberUse) -> f64 {
    match member_use {
        MemberUse::OnlyRead | MemberUse::NotCounted | MemberUse::NotAccessed => 0.5,
        MemberUse::WrittenByOne => 1.5,
        MemberUse::WrittenBySeveral => 3.0,
    }
}

/// Draws the numbers of bytes above the lines of a finding.
pub(crate) fn draw_ruler(canvas: &mut SvgCanvas, line_bytes: u32) {
    let base = canvas.top() + 13.0;
    for byte in (0..line_bytes).step_by(RULER_BYTES as usize) {
        let left = byte_left(byte.into(), line_bytes);
        canvas.add_text(left, base, &byte.to_string(), TextStyle::Listed);
    }
    canvas.add_space(17.0);
}

/// Draws a line. Members whose names do not fit have their letters.
pub(crate) fn draw_line(
    canvas: &mut SvgCanvas,
    row: &LineRow<'_>,
    line_bytes: u32,
    noun: ContextNoun,
) {
    let line = row.offset;
    let end = line.saturating_add(line_bytes.into());
    canvas.begin_group(&line_sentence(&row.members, line, end, noun));
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
    let mut drawn_end = i64::MIN;
    for lettered in &row.members {
        let member = lettered.member;
        let from = (member.offset - line).max(0);
        let to = (member.end() - line).min(line_bytes.into());
        let area = byte_area(top, from, to, line_bytes);
        match member.offset < drawn_end {
            true => draw_inner_member(canvas, member, area),
            false => draw_member(canvas, member, lettered.letter, area),
        }
        drawn_end = drawn_end.max(member.end());
    }
    canvas.end_group();
    canvas.add_space(ROW_HEIGHT + 4.0);
}

/// Returns the words of a line for screen readers.
fn line_sentence(members: &[LetteredMember<'_>], line: i64, end: i64, noun: ContextNoun) -> String {
    let words: Vec<String> = { members.iter() }
        .map(|LetteredMember { member, .. }| {
            format!("{}, {}", member_label(member), member_uses(member, noun))
        })
        .collect();
    let words = match words.is_empty() {
        true => "no member that was accessed".to_owned(),
        false => words.join("; "),
    };
    format!("Bytes {line} to {}: {words}", end - 1)
}

fn draw_member(
    canvas: &mut SvgCanvas,
    member: &MemberDocument,
    letter: Option<char>,
    area: PictureArea,
) {
    canvas.begin_tip(&member_label(member));
    canvas.add_box(member.member_use(), area);
    let width = area.width - 2.0 * NAME_MARGIN;
    if let Some(name) = fitting_name(shown_name(&member.name), letter, width) {
        let base = area.top + ROW_HEIGHT / 2.0 + 4.0;
        canvas.add_text(area.left + NAME_MARGIN, base, &name, TextStyle::Listed);
    }
    canvas.end_group();
}

/// Draws a member that shares its bytes with one before it, as a strip below the other's name.
fn draw_inner_member(canvas: &mut SvgCanvas, member: &MemberDocument, area: PictureArea) {
    let strip = PictureArea {
        top: area.top + area.height - STRIP_HEIGHT,
        height: STRIP_HEIGHT,
        ..area
    };
    canvas.begin_tip(&member_label(member));
    canvas.add_box(member.member_use(), strip);
    canvas.end_group();
}

/// `d_lockref.lock_count at 88, 8 bytes`
pub(crate) fn member_label(member: &MemberDocument) -> String {
    format!(
        "{} at {}, {}",
        shown_name(&member.name),
        member.offset,
        counted(member.size, "byte")
    )
}

/// Returns the name if it fits, else the letter if that does.
fn fitting_name(name: &str, letter: Option<char>, width: f64) -> Option<String> {
    let name = crate::words::escape::escape_text(name).into_owned();
    let shorter = letter.map(String::from);
    { [Some(name), shorter].into_iter().flatten() }.find(|words| text_width(words) <= width)
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
    fn a_name_that_does_not_fit_is_a_letter() {
        #[track_caller]
        fn check(name: &str, columns: usize, expect: Option<&str>) {
            let width = text_width(&"x".repeat(columns));
            assert_eq!(fitting_name(name, Some('C'), width).as_deref(), expect);
        }
        check("lock", 4, Some("lock"));
        check("lock", 3, Some("C"));
        check("lock", 0, None);
        assert_eq!(fitting_name("lock", None, text_width("abc")), None);
    }

    #[test]
    fn a_member_has_the_width_of_its_bytes() {
        let word = byte_area(0.0, 8, 16, 64);
        let line = byte_area(0.0, 0, 64, 64);
        assert!((word.width * 8.0 - line.width).abs() < 1e-9);
        assert!((line.left + line.width - (WIDTH - MARGIN)).abs() < 1e-9);
    }
}
