//! Moves of members in classes: whole lines with their comments, under the access specifier that they
//! had, and with constructors' lists in the new order.

use std::ops::Range;

use super::class::{
    AccessLevel, CxxClass, data_members, is_conditional, lone_member, member_names,
};
use super::construction::{ConstructorHome, MemberOrders, reorder_lists};
use super::member::CxxMember;
use crate::c::comment::render_comment;
use crate::change::MemberPosition;
use crate::change::MoveRequest;
use crate::lex::{TokenIndex, TokenKind};
use crate::lines::{is_blank_line, is_first_on_line, line_ending, line_start, next_line_start};
use crate::refusal::EditRefusal;
use crate::tokenized::TokenizedFile;

/// Returns the text with the members of the class moved, one behind the other.
pub(super) fn move_class_members(
    file: &TokenizedFile<'_>,
    class_name: &str,
    request: MoveRequest<'_>,
) -> Result<String, EditRefusal> {
    let (first, others) = request
        .members
        .split_first()
        .ok_or(EditRefusal::NoMembers)?;
    let mut text = move_member(file, class_name, first, request.to, request.reason)?;
    let mut last = first;
    for member in others {
        let behind = MemberPosition::After(last.clone());
        let moved = TokenizedFile::new(file.name, &text);
        text = match move_member(&moved, class_name, member, &behind, None) {
            Err(EditRefusal::NothingToDo { .. }) => text,
            moved => moved?,
        };
        last = member;
    }
    Ok(text)
}

fn move_member(
    file: &TokenizedFile<'_>,
    class_name: &str,
    member: &str,
    to: &MemberPosition,
    reason: Option<&str>,
) -> Result<String, EditRefusal> {
    let class = CxxClass::find(file, class_name)?;
    let order: Vec<String> = member_names(file, &class);
    let moved = lone_member(file, &class, member)?;
    let (anchor, is_before) = anchor_of(&order, to);
    let expect = order_after(&order, member, (anchor, is_before));
    if expect == order {
        return Err(EditRefusal::NothingToDo {
            member: member.to_owned(),
            place: file.place(moved.first),
        });
    }
    let beside = lone_member(file, &class, anchor)?;
    refuse_conditionals(file, &class, [&moved, &beside])?;
    let block = lines_of_member(file, &moved)?;
    let neighbour = lines_of_member(file, &beside)?;
    let at = if is_before {
        neighbour.start
    } else {
        neighbour.end
    };
    let lines = inserted_lines(file, &class, (&moved, &block), &beside, at, reason)?;
    let text = splice(file.source, &block, at, &lines);
    finish_move(file, &class, &text, (&order, &expect))
}

/// Puts constructors' lists into the new order, and reads the result back.
fn finish_move(
    file: &TokenizedFile<'_>,
    class: &CxxClass,
    text: &str,
    (order, expect): (&[String], &[String]),
) -> Result<String, EditRefusal> {
    let wrong = || EditRefusal::NotAsIntended {
        name: class.name.clone(),
        place: file.place(class.keyword),
    };
    let moved = TokenizedFile::new(file.name, text);
    let moved_class = CxxClass::find(&moved, &class.name).map_err(|_| wrong())?;
    let orders = MemberOrders {
        before: order,
        after: expect,
    };
    let text = reorder_lists(&moved, &moved_class, ConstructorHome::OwnFile, orders)?;
    let done = TokenizedFile::new(file.name, &text);
    let done_class = CxxClass::find(&done, &class.name).map_err(|_| wrong())?;
    let access = |file: &TokenizedFile<'_>, class: &CxxClass| {
        let members = data_members(file, class).into_iter();
        let mut access: Vec<(String, AccessLevel)> = { members }
            .map(|member| (member.name().to_owned(), member.access))
            .collect();
        access.sort_by(|a, b| a.0.cmp(&b.0));
        access
    };
    let is_right = member_names(&done, &done_class) == expect
        && access(&done, &done_class) == access(file, class);
    match is_right {
        true => Ok(text),
        false => Err(wrong()),
    }
}

/// Returns the members between the old and the new place of `member`, by the names that stand for
/// their statements.
pub(super) fn crossed_members(order: &[String], member: &str, to: &MemberPosition) -> Vec<String> {
    let place = |name: &str| order.iter().position(|other| other == name);
    let is_anchor_there = to.anchor().is_none_or(|anchor| order.contains(anchor));
    let Some(from) = place(member).filter(|_| is_anchor_there) else {
        // The move itself names what is missing.
        return Vec::new();
    };
    let expect = order_after(order, member, anchor_of(order, to));
    let to = expect.iter().position(|name| name == member);
    match to.unwrap_or(from) {
        to if to < from => order[to..from].to_vec(),
        to => order[from + 1..=to].to_vec(),
    }
}

/// Member beside a position, and true if the position is in front of it.
fn anchor_of<'a>(order: &'a [String], to: &'a MemberPosition) -> (&'a str, bool) {
    match to {
        MemberPosition::First => (&order[0], true),
        MemberPosition::Last => (&order[order.len() - 1], false),
        MemberPosition::After(anchor) => (anchor, false),
        MemberPosition::Before(anchor) | MemberPosition::Below(anchor) => (anchor, true),
    }
}

/// Order of the members once `member` is beside the anchor.
fn order_after(order: &[String], member: &str, (anchor, is_before): (&str, bool)) -> Vec<String> {
    let mut order: Vec<String> = order.to_vec();
    if member == anchor {
        return order;
    }
    order.retain(|name| name != member);
    let beside = order.iter().position(|name| name == anchor);
    let at = beside.map_or(order.len(), |at| at + usize::from(!is_before));
    order.insert(at, member.to_owned());
    order
}

/// Refuses members inside of `#if` groups of the class.
fn refuse_conditionals(
    file: &TokenizedFile<'_>,
    class: &CxxClass,
    members: [&CxxMember; 2],
) -> Result<(), EditRefusal> {
    let mut members = members.into_iter();
    match members.find(|member| is_conditional(file, class, member)) {
        None => Ok(()),
        Some(member) => Err(EditRefusal::ConditionalGroup {
            member: member.name().to_owned(),
            place: file.place(member.first),
        }),
    }
}

/// Bytes of a member's lines, with the comment above that is about it alone.
pub(super) fn lines_of_member(
    file: &TokenizedFile<'_>,
    member: &CxxMember,
) -> Result<Range<usize>, EditRefusal> {
    let source = file.source;
    let shared = || EditRefusal::SharedLine {
        member: member.name().to_owned(),
        place: file.place(member.first),
    };
    let semicolon = file.tokens[member.last].end;
    let end = next_line_start(source, semicolon);
    let behind = file.tokens.get(member.last + 1);
    let comment = behind.filter(|token| token.kind == TokenKind::Comment && token.start < end);
    let rest_start = comment.map_or(semicolon, |comment| comment.end);
    if rest_start > end || !source[rest_start..end].trim().is_empty() {
        return Err(shared());
    }
    let own = line_start(source, file.tokens[member.first].start);
    let is_alone = is_group_end(file, member.last + 1, end);
    let start = if is_alone {
        comment_start(file, member.first, own)
    } else {
        own
    };
    Ok(start..end)
}

/// True if no other member follows on the next line, which a comment above could be about too.
fn is_group_end(file: &TokenizedFile<'_>, mut next: TokenIndex, end: usize) -> bool {
    while let Some(token) = file.tokens.get(next) {
        if token.start >= end {
            let on_next_line = line_start(file.source, token.start) == end;
            let is_member = token.kind == TokenKind::Ident && file.text(next + 1) != ":";
            return !(on_next_line && is_member);
        }
        next += 1;
    }
    true
}

/// Start of the whole-line comments directly above the line that starts at `own`.
fn comment_start(file: &TokenizedFile<'_>, first: TokenIndex, own: usize) -> usize {
    let mut start = own;
    for at in first.all_before().rev() {
        let token = &file.tokens[at];
        let is_above = token.kind == TokenKind::Comment
            && next_line_start(file.source, token.end.saturating_sub(1)) == start
            && is_first_on_line(file.source, token.start);
        if !is_above {
            break;
        }
        start = line_start(file.source, token.start);
    }
    start
}

/// Lines of the moved member at their new place `at`: with the reason, and between access specifiers
/// where the neighbour `beside` has another access.
fn inserted_lines(
    file: &TokenizedFile<'_>,
    class: &CxxClass,
    (moved, block): (&CxxMember, &Range<usize>),
    beside: &CxxMember,
    at: usize,
    reason: Option<&str>,
) -> Result<String, EditRefusal> {
    let (source, eol) = (file.source, line_ending(file.source));
    let own = line_start(source, file.tokens[moved.first].start);
    let indent = &source[own..file.tokens[moved.first].start];
    let comment = match reason {
        Some(reason) => render_comment(source, indent, &[reason], moved.name())?,
        None => String::new(),
    };
    let mut lines = format!(
        "{}{comment}{}",
        &source[block.start..own],
        &source[own..block.end]
    );
    if !lines.ends_with('\n') {
        lines += eol;
    }
    if moved.access != beside.access {
        let label_indent = specifier_indent(file, class, indent);
        lines = format!("{label_indent}{}:{eol}{lines}", moved.access.word());
        // Nothing has to get its access back at the end of the class, and before another specifier.
        if needs_specifier_behind(file, class, at) {
            lines += &format!("{label_indent}{}:{eol}", beside.access.word());
        }
    }
    Ok(lines)
}

/// White space in front of the class's access specifiers.
fn specifier_indent<'f>(
    file: &TokenizedFile<'f>,
    class: &CxxClass,
    member_indent: &'f str,
) -> &'f str {
    let mut tokens = file.outside_brackets(class.open + 1, class.close);
    let specifier = tokens.find(|&at| {
        let is_first = is_first_on_line(file.source, file.tokens[at].start);
        is_first && AccessLevel::at(file, at).is_some()
    });
    match specifier {
        Some(at) => {
            let start = file.tokens[at].start;
            &file.source[line_start(file.source, start)..start]
        }
        None => member_indent
            .strip_suffix("  ")
            .or(member_indent.strip_suffix('\t'))
            .unwrap_or(""),
    }
}

fn needs_specifier_behind(file: &TokenizedFile<'_>, class: &CxxClass, at: usize) -> bool {
    let mut behind = file
        .tokens
        .indexes()
        .filter(|&index| file.tokens[index].start >= at && file.is_code(index));
    behind
        .next()
        .is_some_and(|next| next < class.close && AccessLevel::at(file, next).is_none())
}

/// Takes the lines `block` out, and puts `lines` in at byte `at` of the old text.
fn splice(source: &str, block: &Range<usize>, at: usize, lines: &str) -> String {
    let end = cut_end(source, block);
    match at <= block.start {
        true => [
            &source[..at],
            lines,
            &source[at..block.start],
            &source[end..],
        ]
        .concat(),
        false => [
            &source[..block.start],
            &source[end..at.max(end)],
            lines,
            &source[at.max(end)..],
        ]
        .concat(),
    }
}

/// End of the lines that go with `block`: a blank line behind it goes too where one, an access
/// specifier or the opening brace is in front of it.
fn cut_end(source: &str, block: &Range<usize>) -> usize {
    let above = source[..block.start]
        .lines()
        .next_back()
        .unwrap_or("")
        .trim_end();
    let opens = above.is_empty() || above.ends_with([':', '{']);
    match opens && is_blank_line(source, block.end) {
        true => next_line_start(source, block.end),
        false => block.end,
    }
}
