//! `#if` groups around what moves: which go along, which are left, which are written again.

use super::unit::{Unit, common};
use crate::body::{Body, Branch};
use crate::change::Position;
use crate::condition;
use crate::find::File;
use crate::lex::Kind;
use crate::lines::{line_start, newline, next_line, starts_line};
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
    /// It goes into the anchor's groups, which have the conditions that its own have: the bytes
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
        let whole = fills(file, body, group, found.first, found.last);
        found.again = match found.again.take() {
            None if whole => {
                (found.first, found.last) = (body.groups[group].start, body.groups[group].end);
                None
            }
            inner => {
                let lines = written_again(file, body, unit, (group, branch));
                let (above, below) = lines.ok_or(refuse(group))?;
                let (inner_above, inner_below) = inner.unwrap_or_default();
                Some((above + &inner_above, inner_below + &below))
            }
        };
    }
    if let Some((levels, inside)) = joined(file, body, own, theirs, &found) {
        found.level += levels;
        found.join = Some(inside);
    }
    if let Some(anchor) = anchor {
        let moves = |index| (unit.first..=unit.last).contains(&index);
        if let Some(group) = inside_of(body, anchor, to, found.level, moves) {
            return Err(refuse(group));
        }
        for (depth, &(group, _)) in theirs.iter().enumerate().skip(found.level) {
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

/// Where the unit is all of groups and the anchor stands in others with the same conditions: how many these
/// are, and what is inside of its own.
fn joined(
    file: &File<'_>,
    body: &Body,
    own: &[Branch],
    theirs: &[Branch],
    found: &Around,
) -> Option<(usize, (usize, usize))> {
    let (own, theirs) = (own.get(found.level..)?, theirs.get(found.level..)?);
    let outer = &body.groups[own.first()?.0];
    let above = file.tokens[..outer.start].last();
    let commented = above.is_some_and(|token| {
        token.kind == Kind::Comment
            && starts_line(file.source, token.start)
            && next_line(file.source, token.end) == file.tokens[outer.start].start
    });
    if outer.start != found.first || commented {
        return None;
    }
    let same = |&(&(own, first), &(other, branch)): &(&Branch, &Branch)| {
        let own = condition::opening(file, &body.groups[own], first);
        own.is_some() && own == condition::opening(file, &body.groups[other], branch)
    };
    let count = own.iter().zip(theirs).take_while(same).count();
    let inner = &body.groups[own.get(count.checked_sub(1)?)?.0];
    // Comments at the directives are about the group, and would be lost.
    if inner.start - outer.start != count - 1 || outer.end - inner.end != count - 1 {
        return None;
    }
    let inside = (
        next_line(file.source, file.tokens[inner.start].end),
        line_start(file.source, file.tokens[inner.end].start),
    );
    Some((count, inside))
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
