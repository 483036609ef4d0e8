//! Where something goes: which statement it comes to stand before, and at which byte.

use super::block::lines_with_comments;
use crate::body::{Body, Item};
use crate::change::Position;
use crate::find::{Definition, File, ItemPath};
use crate::lines::next_line;
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
        return match leads(definition, bodies) {
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
/// before it; the front of a named one is a place of its own.
fn leads(definition: &Definition, bodies: &[usize]) -> bool {
    let container = |depth: usize| {
        definition.item(&ItemPath {
            bodies: bodies[..depth].to_vec(),
            item: bodies[depth],
        })
    };
    let inner = (0..bodies.len()).rev();
    inner
        .take_while(|&depth| container(depth).names.is_empty())
        .all(|depth| bodies[depth] == 0)
}

/// The gap beside `anchor`, outside of the `#if` groups that it stands in beyond `level`; at the
/// anchor itself with `join`, which goes into its group.
pub(crate) fn gap(
    file: &File<'_>,
    body: &Body,
    anchor: Option<usize>,
    to: &Position,
    level: usize,
    join: Option<(usize, usize)>,
    member: &str,
) -> Result<Gap, Refusal> {
    let refused = |token| Refusal::SharedLine {
        member: member.to_owned(),
        place: file.place(token),
    };
    let Some(anchor) = anchor else {
        let target = brace_line_end(file, body).ok_or_else(|| refused(body.open))?;
        return Ok(Gap { before: 0, target });
    };
    let item = &body.items[anchor];
    let group = |item: &Item| match join {
        Some(_) => None,
        None => item.branches.get(level).map(|&(group, _)| group),
    };
    let block =
        lines_with_comments(file, body, item, group(item)).map_err(|_| refused(item.first))?;
    let inside = |item: &&Item| group(item).is_some() && group(item) == group(&body.items[anchor]);
    Ok(match to.is_before() {
        true => Gap {
            before: anchor - body.items[..anchor].iter().rev().take_while(inside).count(),
            target: match to {
                Position::Below(_) => block.own,
                _ => block.start,
            },
        },
        false => Gap {
            before: anchor + 1 + body.items[anchor + 1..].iter().take_while(inside).count(),
            target: block.end,
        },
    })
}

/// First byte after the line of the opening brace, when no code follows the brace there.
fn brace_line_end(file: &File<'_>, body: &Body) -> Option<usize> {
    let after = file.tokens[body.open].end;
    let end = next_line(file.source, after);
    let next = file.tokens.get(body.open + 1)?;
    (next.start >= end && end > after && file.source[after..end].trim().is_empty()).then_some(end)
}
