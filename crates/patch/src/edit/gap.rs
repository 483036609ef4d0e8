//! Where something goes: which statement it comes to stand before, and at which byte.

use super::block::lines_with_comments;
use crate::body::{Body, Item};
use crate::change::Position;
use crate::declarator::What;
use crate::find::{Definition, File, ItemPath};
use crate::lines::{line_start, next_line, starts_line};
use crate::refusal::Refusal;

/// A place between lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    /// Index of the item that comes behind it, in the old numbering.
    pub before: usize,
    /// First byte of a line.
    pub target: usize,
}

/// The anchor as a statement of the body that `bodies` leads to, in which something moves: the last member of an anonymous
/// struct or union stands for the whole of it, which has no name to be called by; the first one,
/// where something comes before it. `None`: the front.
pub(crate) fn anchor(
    file: &File<'_>,
    definition: &Definition,
    bodies: &[usize],
    path: Option<&ItemPath>,
    to: &Position,
    member: &str,
) -> Result<Option<usize>, Refusal> {
    let refused = |token| Refusal::NestedStruct {
        member: member.to_owned(),
        place: file.place(token),
    };
    let Some(path) = path else {
        return match leads(definition, bodies, to) {
            true => Ok(None),
            false => Err(refused(definition.body.open)),
        };
    };
    let mut at = path.clone();
    while at.bodies.len() > bodies.len() {
        let items = &definition.body_of(&at).items;
        let beyond = match to.is_before() {
            true => &items[..at.item],
            false => &items[at.item + 1..],
        };
        // What is not there in every configuration may be missing in the one that was asked about.
        let edge = beyond.iter().all(|item| !item.branches.is_empty());
        let Some((&container, outer)) = at.bodies.split_last().filter(|_| edge) else {
            break;
        };
        let up = ItemPath {
            bodies: outer.to_vec(),
            item: container,
        };
        if !definition.item(&up).names.is_empty() {
            break;
        }
        at = up;
    }
    match at.bodies == bodies {
        true => Ok(Some(at.item)),
        false => Err(refused(definition.item(&at).first)),
    }
}

/// The front of an anonymous struct is the front of what it stands in only if nothing stands
/// before it, and its end only if nothing stands behind; those of a named one are places of their own.
fn leads(definition: &Definition, bodies: &[usize], to: &Position) -> bool {
    let container = |depth: usize| ItemPath {
        bodies: bodies[..depth].to_vec(),
        item: bodies[depth],
    };
    let outermost = |depth: usize| match to {
        Position::Last => bodies[depth] + 1 == definition.body_of(&container(depth)).items.len(),
        _ => bodies[depth] == 0,
    };
    let inner = (0..bodies.len()).rev();
    inner
        .take_while(|&depth| definition.item(&container(depth)).names.is_empty())
        .all(outermost)
}

/// The gap beside `anchor`, outside of the `#if` groups that it stands in beyond `level`.
pub(crate) fn gap(
    file: &File<'_>,
    body: &Body,
    anchor: Option<usize>,
    to: &Position,
    level: usize,
    member: &str,
) -> Result<Gap, Refusal> {
    let refused = |token| Refusal::SharedLine {
        member: member.to_owned(),
        place: file.place(token),
    };
    let Some(anchor) = anchor else {
        return match to {
            Position::Last => at_the_end(file, body, member),
            _ => {
                let target = brace_line_end(file, body).ok_or_else(|| refused(body.open))?;
                Ok(Gap { before: 0, target })
            }
        };
    };
    let item = &body.items[anchor];
    let group = item.branches.get(level).map(|&(group, _)| group);
    let block = lines_with_comments(file, body, item, group).map_err(|_| refused(item.first))?;
    Ok(Gap {
        before: item_behind(body, Some(anchor), to, level),
        target: match to {
            Position::Below(_) => block.own,
            to if to.is_before() => block.start,
            _ => block.end,
        },
    })
}

/// The item that comes behind the place beside `anchor`, outside of the `#if` groups that it stands in beyond
/// `level`.
pub(crate) fn item_behind(
    body: &Body,
    anchor: Option<usize>,
    to: &Position,
    level: usize,
) -> usize {
    let items = &body.items;
    let Some(anchor) = anchor else {
        return if *to == Position::Last {
            items.len()
        } else {
            0
        };
    };
    let group = |item: &Item| item.branches.get(level).map(|&(group, _)| group);
    let own = group(&items[anchor]);
    let inside = |item: &&Item| own.is_some() && group(item) == own;
    match to.is_before() {
        true => anchor - items[..anchor].iter().rev().take_while(inside).count(),
        false => anchor + 1 + items[anchor + 1..].iter().take_while(inside).count(),
    }
}

/// The gap above the closing brace, when that begins its line and no array without an end is there.
fn at_the_end(file: &File<'_>, body: &Body, member: &str) -> Result<Gap, Refusal> {
    let close = file.tokens[body.close].start;
    let (member, place) = (member.to_owned(), file.place(body.close));
    match body.items.last() {
        Some(last) if last.what == What::Flexible => Err(Refusal::FlexibleArray {
            member,
            place: file.place(last.first),
        }),
        _ if !starts_line(file.source, close) => Err(Refusal::SharedLine { member, place }),
        _ => Ok(Gap {
            before: body.items.len(),
            target: line_start(file.source, close),
        }),
    }
}

/// First byte after the line of the opening brace, when no code follows the brace there.
fn brace_line_end(file: &File<'_>, body: &Body) -> Option<usize> {
    let after = file.tokens[body.open].end;
    let end = next_line(file.source, after);
    let next = file.tokens.get(body.open + 1)?;
    (next.start >= end && end > after && file.source[after..end].trim().is_empty()).then_some(end)
}
