//! What members must not be moved into or out of: groups of lines, and runs that are shuffled.

use crate::body::{GROUP_MARKS, Item};
use crate::declarator::What;
use crate::find::File;
use crate::refusal::Refusal;

/// Which side of a group a mark is at; the group by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark<'a> {
    Begin(&'a str),
    End(&'a str),
    /// It has no other side.
    Alone,
}

fn mark<'a>(file: &File<'a>, border: &Item) -> Mark<'a> {
    let text = |token: usize| {
        let token = file.tokens.get(token);
        token.map_or("", |token| token.text(file.source))
    };
    let word = text(border.first);
    match word.strip_prefix(GROUP_MARKS) {
        Some(mark) if mark.starts_with("begin") => Mark::Begin(text(border.first + 2)),
        Some(mark) if mark.starts_with("end") => Mark::End(text(border.first + 2)),
        _ if word == "randomized_struct_fields_start" => Mark::Begin(""),
        _ if word == "randomized_struct_fields_end" => Mark::End(""),
        _ => Mark::Alone,
    }
}

/// The first border among `items`, which a move passes, that it does not pass together with the other side
/// of the same group.
pub(crate) fn crossed<'i>(file: &File<'_>, items: &'i [Item]) -> Option<&'i Item> {
    let mut open: Vec<(&str, &Item)> = Vec::new();
    for border in items.iter().filter(|item| item.what == What::Border) {
        match mark(file, border) {
            Mark::Begin(group) => open.push((group, border)),
            Mark::End(group) if open.last().is_some_and(|(begun, _)| *begun == group) => {
                open.pop();
            }
            Mark::End(_) | Mark::Alone => return Some(border),
        }
    }
    open.first().map(|(_, border)| *border)
}

/// Why `member` does not pass the border, on its way up or down.
pub(crate) fn refusal(file: &File<'_>, border: &Item, member: &str, upwards: bool) -> Refusal {
    let (first, last) = (file.tokens[border.first], file.tokens[border.last]);
    let text = &file.source[first.start..last.end];
    let (member, place) = (member.to_owned(), file.place(border.first));
    let verb = match (mark(file, border), upwards) {
        (Mark::Begin(_), true) | (Mark::End(_), false) => "leave",
        _ => "enter",
    };
    match mark(file, border) {
        Mark::Begin(group) | Mark::End(group) if text.starts_with(GROUP_MARKS) => {
            Refusal::LineGroup {
                member,
                verb,
                group: group.to_owned(),
                place,
            }
        }
        _ => Refusal::Border {
            member,
            border: text.to_owned(),
            place,
        },
    }
}
