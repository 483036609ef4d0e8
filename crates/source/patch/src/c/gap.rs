//! Target of a move: the statement behind it, and the byte.

use super::block::lines_with_comments;
use crate::body::{BodyStatement, BracedBody};
use crate::change::MemberPosition;
use crate::declarator::StatementKind;
use crate::find::{StatementPath, StructDefinition};
use crate::lines::{is_first_on_line, line_start, next_line_start};
use crate::refusal::EditRefusal;
use crate::tokenized::TokenizedFile;

/// A position between lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InsertionGap {
    /// Index of the statement behind the gap, in the old numbering.
    pub next_statement: usize,
    /// First byte of a line.
    pub target: usize,
}

/// Statement of the body that `bodies` leads to which stands for the anchor: an anonymous struct
/// or union for its last member, or for its first where the target is in front of it. `None`: the
/// front.
pub(crate) fn anchor_statement(
    file: &TokenizedFile<'_>,
    definition: &StructDefinition,
    bodies: &[usize],
    path: Option<&StatementPath>,
    to: &MemberPosition,
    member: &str,
) -> Result<Option<usize>, EditRefusal> {
    let refused = |token| EditRefusal::NestedStruct {
        member: member.to_owned(),
        place: file.place(token),
    };
    let Some(path) = path else {
        return match leads_to_body(definition, bodies, to) {
            true => Ok(None),
            false => Err(refused(definition.body.open)),
        };
    };
    let mut at = path.clone();
    while at.bodies.len() > bodies.len() {
        let statements = &definition.body_of(&at).statements;
        let beyond = match to.is_before() {
            true => &statements[..at.statement],
            false => &statements[at.statement + 1..],
        };
        // What is not there in every configuration may be missing in the one that was asked about.
        let edge = beyond
            .iter()
            .all(|statement| !statement.branches.is_empty());
        let Some((&container, outer)) = at.bodies.split_last().filter(|_| edge) else {
            break;
        };
        let up = StatementPath {
            bodies: outer.to_vec(),
            statement: container,
        };
        if !definition.statement(&up).names.is_empty() {
            break;
        }
        at = up;
    }
    match at.bodies == bodies {
        true => Ok(Some(at.statement)),
        false => Err(refused(definition.statement(&at).first)),
    }
}

/// Returns true if the front (or end) of the struct is that of the body: an anonymous struct
/// shares both with its outer struct, as far as no other statement stands there. A named struct
/// has a front and an end of its own.
fn leads_to_body(definition: &StructDefinition, bodies: &[usize], to: &MemberPosition) -> bool {
    let container = |depth: usize| StatementPath {
        bodies: bodies[..depth].to_vec(),
        statement: bodies[depth],
    };
    let outermost = |depth: usize| match to {
        MemberPosition::Last => {
            bodies[depth] + 1 == definition.body_of(&container(depth)).statements.len()
        }
        _ => bodies[depth] == 0,
    };
    let inner = (0..bodies.len()).rev();
    inner
        .take_while(|&depth| definition.statement(&container(depth)).names.is_empty())
        .all(outermost)
}

/// Gap beside `anchor`, outside of the `#if` groups around the anchor beyond `level`.
pub(crate) fn find_gap(
    file: &TokenizedFile<'_>,
    body: &BracedBody,
    anchor: Option<usize>,
    to: &MemberPosition,
    level: usize,
    member: &str,
) -> Result<InsertionGap, EditRefusal> {
    let refused = |token| EditRefusal::SharedLine {
        member: member.to_owned(),
        place: file.place(token),
    };
    let Some(anchor) = anchor else {
        return match to {
            MemberPosition::Last => gap_at_end(file, body, member),
            _ => {
                let target = brace_line_end(file, body).ok_or_else(|| refused(body.open))?;
                Ok(InsertionGap {
                    next_statement: 0,
                    target,
                })
            }
        };
    };
    let statement = &body.statements[anchor];
    let group = statement.branches.get(level).map(|&(group, _)| group);
    let block =
        lines_with_comments(file, body, statement, group).map_err(|_| refused(statement.first))?;
    Ok(InsertionGap {
        next_statement: statement_behind(body, Some(anchor), to, level),
        target: match to {
            MemberPosition::Below(_) => block.own_start,
            to if to.is_before() => block.start,
            _ => block.end,
        },
    })
}

/// Index of the statement behind the position beside `anchor`, outside of the `#if` groups around
/// the anchor beyond `level`.
pub(crate) fn statement_behind(
    body: &BracedBody,
    anchor: Option<usize>,
    to: &MemberPosition,
    level: usize,
) -> usize {
    let statements = &body.statements;
    let Some(anchor) = anchor else {
        return if *to == MemberPosition::Last {
            statements.len()
        } else {
            0
        };
    };
    let group = |statement: &BodyStatement| statement.branches.get(level).map(|&(group, _)| group);
    let own = group(&statements[anchor]);
    let inside = |statement: &&BodyStatement| own.is_some() && group(statement) == own;
    match to.is_before() {
        true => anchor - statements[..anchor].iter().rev().take_while(inside).count(),
        false => anchor + 1 + statements[anchor + 1..].iter().take_while(inside).count(),
    }
}

/// Gap above the closing brace, if the brace begins its line and no flexible array stands there.
fn gap_at_end(
    file: &TokenizedFile<'_>,
    body: &BracedBody,
    member: &str,
) -> Result<InsertionGap, EditRefusal> {
    let close = file.tokens[body.close].start;
    let (member, place) = (member.to_owned(), file.place(body.close));
    match body.statements.last() {
        Some(last) if last.kind == StatementKind::Flexible => Err(EditRefusal::FlexibleArray {
            member,
            place: file.place(last.first),
        }),
        _ if !is_first_on_line(file.source, close) => {
            Err(EditRefusal::SharedLine { member, place })
        }
        _ => Ok(InsertionGap {
            next_statement: body.statements.len(),
            target: line_start(file.source, close),
        }),
    }
}

/// First byte after the line of the opening brace, if no code follows the brace there.
fn brace_line_end(file: &TokenizedFile<'_>, body: &BracedBody) -> Option<usize> {
    let after = file.tokens[body.open].end;
    let end = next_line_start(file.source, after);
    let next = file.tokens.get(body.open + 1)?;
    (next.start >= end && end > after && file.source[after..end].trim().is_empty()).then_some(end)
}
