//! `#if` groups around what moves: which go along, which are left, which are written again.

use super::unit::{Unit, common};
use crate::body::{Body, Branch};
use crate::change::Position;
use crate::condition;
use crate::find::File;
use crate::lex::Kind;
use crate::lines::{line_start, newline, next_line};
use crate::refusal::Refusal;

/// What becomes of the conditionals around a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Around {
    /// First and last token of what is cut out: the unit, or the groups that hold nothing else.
    pub first: usize,
    pub last: usize,
    /// Number of branches that the place where it goes stands in.
    pub level: usize,
    /// The lines to write above and below it, where it leaves a group to others.
    pub again: Option<(String, String)>,
    /// It goes into the anchor's group, which has the condition that its own has: the bytes
    /// between `#if` and `#endif` of its own.
    pub join: Option<(usize, usize)>,
}

/// The conditionals of a move of `unit` beside statement `anchor` (`None`: to the front).
pub(crate) fn around(
    file: &File<'_>,
    body: &Body,
    unit: &Unit,
    anchor: Option<usize>,
    to: &Position,
    member: &str,
) -> Result<Around, Refusal> {
    let own = unit.branches(body);
    let theirs: &[Branch] = anchor.map_or(&[], |anchor| &body.items[anchor].branches);
    let level = common(own, theirs);
    let refuse = |group: usize| Refusal::ConditionalGroup {
        member: member.to_owned(),
        place: file.place(body.groups[group].start),
    };
    let (first, last) = unit.tokens(body, own.len());
    let mut found = Around {
        first,
        last,
        level,
        again: None,
        join: None,
    };
    for &(group, branch) in own[level..].iter().rev() {
        if found.again.is_some() {
            return Err(refuse(group));
        }
        if fills(file, body, group, found.first, found.last) {
            (found.first, found.last) = (body.groups[group].start, body.groups[group].end);
        } else {
            let lines = written_again(file, body, unit, (group, branch));
            found.again = Some(lines.ok_or(refuse(group))?);
        }
    }
    found.join = joined(file, body, own, theirs, &found);
    if let Some(anchor) = anchor.filter(|_| found.join.is_none()) {
        let moves = |index| (unit.first..=unit.last).contains(&index);
        if let Some(group) = inside_of(body, anchor, to, level, moves) {
            return Err(refuse(group));
        }
        for (depth, &(group, _)) in theirs.iter().enumerate().skip(level) {
            if own.get(depth).is_some_and(|&(own, _)| own == group) {
                return Err(refuse(group));
            }
        }
    }
    Ok(found)
}

/// The first `#if` group beyond `level` of which the place beside `anchor` would be inside, since
/// more of the same branch follows that does not move.
pub(crate) fn inside_of(
    body: &Body,
    anchor: usize,
    to: &Position,
    level: usize,
    moves: impl Fn(usize) -> bool,
) -> Option<usize> {
    let depth = middle_of(body, anchor, to, level, moves).next()?;
    Some(body.items[anchor].branches[depth].0)
}

/// The depths of all such groups, from the outside.
pub(crate) fn middle_of(
    body: &Body,
    anchor: usize,
    to: &Position,
    level: usize,
    moves: impl Fn(usize) -> bool,
) -> impl Iterator<Item = usize> {
    let beyond = match to.is_before() {
        true => 0..anchor,
        false => anchor + 1..body.items.len(),
    };
    let branches = &body.items[anchor].branches;
    (level..branches.len()).filter(move |&depth| {
        let mut more = beyond.clone().filter(|&index| !moves(index));
        more.any(|index| body.items[index].branches.get(depth) == Some(&branches[depth]))
    })
}

/// Where the unit is all of a group and the anchor stands in another with the same condition: what
/// is inside of its own.
fn joined(
    file: &File<'_>,
    body: &Body,
    own: &[Branch],
    theirs: &[Branch],
    found: &Around,
) -> Option<(usize, usize)> {
    let (&[(own, _)], &[(other, branch)]) = (&own[found.level..], &theirs[found.level..]) else {
        return None;
    };
    let (own, other) = (&body.groups[own], &body.groups[other]);
    let above = file.tokens[..own.start].last();
    let commented = above.is_some_and(|token| {
        token.kind == Kind::Comment
            && next_line(file.source, token.end) == file.tokens[own.start].start
    });
    let same = condition::opening(file, own, 0)
        .is_some_and(|own| condition::opening(file, other, branch) == Some(own));
    if own.start != found.first || !same || commented {
        return None;
    }
    Some((
        next_line(file.source, file.tokens[own.start].end),
        line_start(file.source, file.tokens[own.end].start),
    ))
}

/// Whether between `#if` and `#endif` there is no code and no directive but tokens `first..=last`.
fn fills(file: &File<'_>, body: &Body, group: usize, first: usize, last: usize) -> bool {
    let bounds = &body.groups[group];
    let outside = (bounds.start + 1..first).chain(last + 1..bounds.end);
    first > bounds.start
        && last < bounds.end
        && outside
            .into_iter()
            .all(|at| file.tokens[at].kind == Kind::Comment)
}

/// The conditional of a branch, as lines around what is taken out of it. `None` where that would
/// leave the branch empty before another, or the condition is not one directive's.
fn written_again(
    file: &File<'_>,
    body: &Body,
    unit: &Unit,
    branch: Branch,
) -> Option<(String, String)> {
    if is_all_of(body, unit, branch) {
        return None;
    }
    let opening = condition::opening(file, &body.groups[branch.0], branch.1)?;
    let eol = newline(file.source);
    Some((format!("{opening}{eol}"), format!("#endif{eol}")))
}

/// Whether nothing but the unit stands in the branch.
pub(crate) fn is_all_of(body: &Body, unit: &Unit, branch: Branch) -> bool {
    let mut items = body.items.iter().enumerate();
    items.all(|(index, item)| {
        (unit.first..=unit.last).contains(&index) || !item.branches.contains(&branch)
    })
}
