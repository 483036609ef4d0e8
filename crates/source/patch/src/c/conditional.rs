//! `#if` groups around moved members: groups that move along, that are left, and that are written
//! again.

use super::unit::{MovedUnit, shared_branches};
use crate::body::{BracedBody, IfBranch};
use crate::change::MemberPosition;
use crate::condition;
use crate::lex::{TokenIndex, TokenKind};
use crate::lines::{is_first_on_line, line_ending, line_start, next_line_start};
use crate::refusal::EditRefusal;
use crate::tokenized::TokenizedFile;

/// Plan for the conditionals around the moved statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConditionalsPlan {
    /// First token to cut out: of the statements, or of the groups that hold nothing else.
    pub first: TokenIndex,
    pub last: TokenIndex,
    /// Number of branches around the target.
    pub target_level: usize,
    /// Lines to write above and below the statements, where they leave a group to others.
    pub rewritten: Option<(String, String)>,
    /// Bytes between `#if` and `#endif` of the own groups, if the statements join the anchor's
    /// groups, which have the same conditions.
    pub joined_inside: Option<(usize, usize)>,
}

/// Plans the conditionals of a move of `unit` beside statement `anchor` (`None`: to the front).
pub(crate) fn plan_conditionals(
    file: &TokenizedFile<'_>,
    body: &BracedBody,
    unit: &MovedUnit,
    anchor: Option<usize>,
    to: &MemberPosition,
    member: &str,
) -> Result<ConditionalsPlan, EditRefusal> {
    let own = unit.branches(body);
    let theirs: &[IfBranch] = anchor.map_or(&[], |anchor| &body.statements[anchor].branches);
    let level = shared_branches(own, theirs);
    let refuse = |group: usize| EditRefusal::ConditionalGroup {
        member: member.to_owned(),
        place: file.place(body.groups[group].start),
    };
    let (first, last) = unit.token_range(body, own.len());
    let mut plan = ConditionalsPlan {
        first,
        last,
        target_level: level,
        rewritten: None,
        joined_inside: None,
    };
    for &(group, branch) in own[level..].iter().rev() {
        let whole = fills_group(file, body, group, plan.first, plan.last);
        plan.rewritten = match plan.rewritten.take() {
            None if whole => {
                (plan.first, plan.last) = (body.groups[group].start, body.groups[group].end);
                None
            }
            inner => {
                let lines = rewritten_conditional(file, body, unit, (group, branch));
                let (above, below) = lines.ok_or(refuse(group))?;
                let (inner_above, inner_below) = inner.unwrap_or_default();
                Some((above + &inner_above, inner_below + &below))
            }
        };
    }
    if let Some((levels, inside)) = matching_groups(file, body, own, theirs, &plan) {
        plan.target_level += levels;
        plan.joined_inside = Some(inside);
    }
    if let Some(anchor) = anchor {
        let moves = |index| (unit.first..=unit.last).contains(&index);
        if let Some(group) = entered_group(body, anchor, to, plan.target_level, moves) {
            return Err(refuse(group));
        }
        for (depth, &(group, _)) in theirs.iter().enumerate().skip(plan.target_level) {
            if own.get(depth).is_some_and(|&(own, _)| own == group) {
                return Err(refuse(group));
            }
        }
    }
    Ok(plan)
}

/// First `#if` group beyond `level` that the position beside `anchor` is inside of, since more of
/// the same branch follows that does not move.
pub(crate) fn entered_group(
    body: &BracedBody,
    anchor: usize,
    to: &MemberPosition,
    level: usize,
    moves: impl Fn(usize) -> bool,
) -> Option<usize> {
    let depth = entered_depths(body, anchor, to, level, moves).next()?;
    Some(body.statements[anchor].branches[depth].0)
}

/// Depths of all `#if` groups that the position beside `anchor` is inside of, outermost first.
pub(crate) fn entered_depths(
    body: &BracedBody,
    anchor: usize,
    to: &MemberPosition,
    level: usize,
    moves: impl Fn(usize) -> bool,
) -> impl Iterator<Item = usize> {
    let beyond = match to.is_before() {
        true => 0..anchor,
        false => anchor + 1..body.statements.len(),
    };
    let branches = &body.statements[anchor].branches;
    (level..branches.len()).filter(move |&depth| {
        let mut more = beyond.clone().filter(|&index| !moves(index));
        more.any(|index| body.statements[index].branches.get(depth) == Some(&branches[depth]))
    })
}

/// Number of the anchor's groups with the same conditions as the unit's own, which hold nothing
/// else, and the bytes inside of the innermost own group.
fn matching_groups(
    file: &TokenizedFile<'_>,
    body: &BracedBody,
    own: &[IfBranch],
    theirs: &[IfBranch],
    plan: &ConditionalsPlan,
) -> Option<(usize, (usize, usize))> {
    let (own, theirs) = (
        own.get(plan.target_level..)?,
        theirs.get(plan.target_level..)?,
    );
    let outer = &body.groups[own.first()?.0];
    let above = file.tokens.before(outer.start).last();
    let commented = above.is_some_and(|token| {
        token.kind == TokenKind::Comment
            && is_first_on_line(file.source, token.start)
            && next_line_start(file.source, token.end) == file.tokens[outer.start].start
    });
    if outer.start != plan.first || commented {
        return None;
    }
    let same_condition = |&(&(own, first), &(other, branch)): &(&IfBranch, &IfBranch)| {
        let own = condition::opening_directive(file, &body.groups[own], first);
        own.is_some() && own == condition::opening_directive(file, &body.groups[other], branch)
    };
    let count = own.iter().zip(theirs).take_while(same_condition).count();
    let inner = &body.groups[own.get(count.checked_sub(1)?)?.0];
    // Comments at the directives are about the group, and would be lost.
    if inner.start.distance_from(outer.start) != count - 1
        || outer.end.distance_from(inner.end) != count - 1
    {
        return None;
    }
    let inside = (
        next_line_start(file.source, file.tokens[inner.start].end),
        line_start(file.source, file.tokens[inner.end].start),
    );
    Some((count, inside))
}

/// Returns true if between `#if` and `#endif` no code and no directive stands but tokens
/// `first..=last`.
fn fills_group(
    file: &TokenizedFile<'_>,
    body: &BracedBody,
    group: usize,
    first: TokenIndex,
    last: TokenIndex,
) -> bool {
    let bounds = &body.groups[group];
    let outside = (bounds.start + 1)
        .until(first)
        .chain((last + 1).until(bounds.end));
    first > bounds.start
        && last < bounds.end
        && outside
            .into_iter()
            .all(|at| file.tokens[at].kind == TokenKind::Comment)
}

/// Lines of a branch's conditional, to write around statements that leave it. `None` if the
/// branch would be left empty in front of another, or if the condition is not that of one
/// directive.
fn rewritten_conditional(
    file: &TokenizedFile<'_>,
    body: &BracedBody,
    unit: &MovedUnit,
    branch: IfBranch,
) -> Option<(String, String)> {
    if is_whole_branch(body, unit, branch) {
        return None;
    }
    let opening = condition::opening_directive(file, &body.groups[branch.0], branch.1)?;
    let eol = line_ending(file.source);
    Some((format!("{opening}{eol}"), format!("#endif{eol}")))
}

/// Returns true if nothing but the unit stands in the branch.
pub(crate) fn is_whole_branch(body: &BracedBody, unit: &MovedUnit, branch: IfBranch) -> bool {
    let mut statements = body.statements.iter().enumerate();
    statements.all(|(index, statement)| {
        (unit.first..=unit.last).contains(&index) || !statement.branches.contains(&branch)
    })
}
