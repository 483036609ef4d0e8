//! Borders that members must not cross: groups of cache lines, and runs of randomised members.

use crate::body::{BodyStatement, GROUP_MARKS};
use crate::declarator::StatementKind;
use crate::refusal::EditRefusal;
use crate::tokenized::TokenizedFile;

/// Side of a group that a mark stands for, with the name of the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BorderMark<'a> {
    Begin(&'a str),
    End(&'a str),
    /// A mark without another side.
    Unpaired,
}

fn read_mark<'a>(file: &TokenizedFile<'a>, border: &BodyStatement) -> BorderMark<'a> {
    let word = file.text(border.first);
    match word.strip_prefix(GROUP_MARKS) {
        Some(mark) if mark.starts_with("begin") => BorderMark::Begin(file.text(border.first + 2)),
        Some(mark) if mark.starts_with("end") => BorderMark::End(file.text(border.first + 2)),
        _ if word == "randomized_struct_fields_start" => BorderMark::Begin(""),
        _ if word == "randomized_struct_fields_end" => BorderMark::End(""),
        _ => BorderMark::Unpaired,
    }
}

/// First border among `statements` that a move over all of them crosses. A pair of marks of one
/// group is no border.
pub(crate) fn crossed_border<'i>(
    file: &TokenizedFile<'_>,
    statements: &'i [BodyStatement],
) -> Option<&'i BodyStatement> {
    let mut open: Vec<(&str, &BodyStatement)> = Vec::new();
    for border in statements
        .iter()
        .filter(|statement| statement.kind == StatementKind::Border)
    {
        match read_mark(file, border) {
            BorderMark::Begin(group) => open.push((group, border)),
            BorderMark::End(group) if open.last().is_some_and(|(begun, _)| *begun == group) => {
                open.pop();
            }
            BorderMark::End(_) | BorderMark::Unpaired => return Some(border),
        }
    }
    open.first().map(|(_, border)| *border)
}

/// Refusal to move `member` over the border.
pub(crate) fn crossing_refusal(
    file: &TokenizedFile<'_>,
    border: &BodyStatement,
    member: &str,
    upwards: bool,
) -> EditRefusal {
    let (first, last) = (file.tokens[border.first], file.tokens[border.last]);
    let text = &file.source[first.start..last.end];
    let (member, place) = (member.to_owned(), file.place(border.first));
    let verb = match (read_mark(file, border), upwards) {
        (BorderMark::Begin(_), true) | (BorderMark::End(_), false) => "leave",
        _ => "enter",
    };
    match read_mark(file, border) {
        BorderMark::Begin(group) | BorderMark::End(group) if text.starts_with(GROUP_MARKS) => {
            EditRefusal::LineGroup {
                member,
                verb,
                group: group.to_owned(),
                place,
            }
        }
        _ => EditRefusal::CrossesBorder {
            member,
            border: text.to_owned(),
            place,
        },
    }
}
