//! Splits `#if` groups for a move, so that every member keeps its condition, and joins them
//! again.
//!
//! If the target is in the middle of a group, the group ends before it and begins again behind
//! it. If the move empties a branch, that branch becomes a group of its own first.

use super::conditional::{entered_depths, is_whole_branch};
use super::gap::find_gap;
use super::situation::MoveSituation;
use super::unit::{last_name_in, shared_branches};
use crate::body::{BracedBody, DirectiveKind, IfBranch, directive_kind};
use crate::change::{MoveRequest, SourceChange};
use crate::condition::{opening_directive, statement_texts};
use crate::find::{StatementPath, StructDefinition};
use crate::lex::{TokenIndex, TokenKind};
use crate::lines::{line_ending, line_start, next_line_start};
use crate::refusal::EditRefusal;
use crate::spacing::BlankLines;
use crate::text_edit::{TextEdit, apply_edits};
use crate::tokenized::TokenizedFile;

/// A text with groups split.
pub(crate) struct SplitGroups {
    pub text: String,
    /// Changes that join the groups again.
    pub joins: Vec<SourceChange>,
}

/// Lines to write instead of others, and the changes that take this back.
struct GroupSeam {
    edit: TextEdit,
    joins: Vec<SourceChange>,
}

/// Returns the text with the groups split that the move empties a branch of, or goes into the
/// middle of. `None` if the groups are not the obstacle, or cannot be split.
pub(crate) fn split_groups(
    file: &TokenizedFile<'_>,
    definition: &StructDefinition,
    request: MoveRequest<'_>,
) -> Result<Option<SplitGroups>, EditRefusal> {
    let situation = MoveSituation::new(file, definition, request)?;
    let (own, theirs) = (situation.own_branches(), situation.their_branches());
    let level = shared_branches(own, theirs);
    let branch_of_same_group = |(own, theirs): (&IfBranch, &IfBranch)| own.0 == theirs.0;
    if own
        .get(level)
        .zip(theirs.get(level))
        .is_some_and(branch_of_same_group)
    {
        return Ok(None);
    }
    let left = own[level..]
        .iter()
        .filter_map(|&branch| split_left_group(file, &situation, request, branch));
    let mut seams: Vec<GroupSeam> = left.collect();
    seams.extend(split_entered_groups(file, &situation, request, level)?);
    if seams.is_empty() {
        return Ok(None);
    }
    // The last first, as they are joined again.
    seams.sort_by_key(|seam| std::cmp::Reverse(seam.edit.bytes.start));
    let (mut edits, mut joins) = (Vec::new(), Vec::new());
    for seam in seams {
        edits.push(seam.edit);
        joins.extend(seam.joins);
    }
    edits.reverse();
    let text = apply_edits(file.source, edits);
    let kept = keeps_conditions(file, definition, &situation.unit.path(), &text);
    Ok(kept.then_some(SplitGroups { text, joins }))
}

/// Returns true if `text` has the same statements in the body of `path`, under the same
/// conditions.
fn keeps_conditions(
    file: &TokenizedFile<'_>,
    definition: &StructDefinition,
    path: &StatementPath,
    text: &str,
) -> bool {
    let new = TokenizedFile::new(file.name, text);
    new.find_same_definition(definition)
        .is_ok_and(|new_definition| {
            statement_texts(&new, new_definition.body_of(path))
                == statement_texts(file, definition.body_of(path))
        })
}

/// Splits off a branch that the unit is all of, if it is the last branch or one of two.
fn split_left_group(
    file: &TokenizedFile<'_>,
    situation: &MoveSituation<'_>,
    request: MoveRequest<'_>,
    own: IfBranch,
) -> Option<GroupSeam> {
    let (index, branch) = own;
    let group = &situation.body.groups[index];
    let second = match (branch as usize, group.else_directives.len()) {
        (0, 1) => 1,
        (last, count) if last > 0 && last == count => last,
        _ => return None,
    };
    if !is_whole_branch(situation.body, &situation.unit, own) {
        return None;
    }
    let token = file.tokens[group.else_directives[second - 1]];
    let (start, end) = (
        line_start(file.source, token.start),
        next_line_start(file.source, token.end),
    );
    let eol = line_ending(file.source);
    let reopened = opening_directive(file, group, u32::try_from(second).ok()?)?;
    let before = situation
        .body
        .statements
        .iter()
        .rposition(|statement| statement.last < group.else_directives[second - 1])?;
    let behind = last_name_in(&situation.body.statements[before], &request.members[0])?;
    let line = file.source[start..end]
        .trim_end_matches(['\r', '\n'])
        .to_owned();
    Some(GroupSeam {
        edit: TextEdit {
            bytes: start..end,
            text: format!("#endif{eol}{reopened}{eol}"),
        },
        joins: vec![SourceChange::JoinGroups {
            behind,
            line: Some(line),
        }],
    })
}

/// Ends the groups around the target in front of it, and begins them again behind it.
fn split_entered_groups(
    file: &TokenizedFile<'_>,
    situation: &MoveSituation<'_>,
    request: MoveRequest<'_>,
    level: usize,
) -> Result<Option<GroupSeam>, EditRefusal> {
    let moves = |index| (situation.unit.first..=situation.unit.last).contains(&index);
    let Some((anchor, depth)) = situation.anchor.and_then(|anchor| {
        Some((
            anchor,
            entered_depths(situation.body, anchor, &situation.to, level, moves).last()?,
        ))
    }) else {
        return Ok(None);
    };
    let split = &situation.their_branches()[level..=depth];
    // What follows of the group is not to get another condition.
    let last = |&(group, branch): &IfBranch| {
        branch as usize == situation.body.groups[group].else_directives.len()
    };
    if !split.iter().all(|own| own.1 == 0 || last(own)) {
        return Ok(None);
    }
    let place = find_gap(
        file,
        situation.body,
        Some(anchor),
        &situation.to,
        depth + 1,
        &request.members[0],
    )?;
    let before = place.next_statement.checked_sub(1);
    let behind = before
        .and_then(|index| last_name_in(&situation.body.statements[index], &request.members[0]));
    let openings: Option<Vec<String>> = { split.iter() }
        .map(|&(group, branch)| opening_directive(file, &situation.body.groups[group], branch))
        .collect();
    let (Some(behind), Some(openings)) = (behind, openings) else {
        return Ok(None);
    };
    let eol = line_ending(file.source);
    let closings: Vec<&str> = { split.iter().rev() }
        .map(|&(group, _)| closing_directive(file, situation.body, group))
        .collect();
    let around = BlankLines::around(file.source, (place.target, place.target));
    let lines = |lines: Vec<String>| {
        lines
            .iter()
            .map(|line| format!("{line}{eol}"))
            .collect::<String>()
    };
    Ok(Some(GroupSeam {
        edit: TextEdit {
            bytes: around.start..around.end,
            text: [
                lines(closings.iter().map(|&text| text.to_owned()).collect()),
                eol.repeat(around.above + around.below),
                lines(openings),
            ]
            .concat(),
        },
        joins: vec![SourceChange::JoinGroups { behind, line: None }; split.len()],
    }))
}

/// Directive that ends a group where it is split: as written, unless it names other branches too.
fn closing_directive<'a>(file: &TokenizedFile<'a>, body: &BracedBody, group: usize) -> &'a str {
    let group = &body.groups[group];
    let text = file.tokens[group.end].text(file.source);
    match group.else_directives.is_empty() && !text.contains('\n') {
        true => text,
        false => "#endif",
    }
}

/// Returns the text with the `#if` group that ends behind a member joined to the next group.
pub(crate) fn join_groups(
    file: &TokenizedFile<'_>,
    definition: &StructDefinition,
    behind: &str,
    line: Option<&str>,
) -> Result<String, EditRefusal> {
    let mut first = None;
    for path in definition.find_members(file, behind)? {
        let path = outermost_ending_at(file, definition, path);
        let last = definition.statement(&path).last;
        first.get_or_insert(last);
        let Some((end, start)) = endif_and_if_behind(file, last) else {
            continue;
        };
        if !are_joinable(definition.body_of(&path), (end, start), line) {
            continue;
        }
        let (end, start) = (file.tokens[end], file.tokens[start]);
        let source = file.source;
        let line = line.map_or(String::new(), |line| {
            format!("{line}{}", line_ending(source))
        });
        let text = [
            &source[..line_start(source, end.start)],
            &line,
            &source[next_line_start(source, end.end)..line_start(source, start.start)],
            &source[next_line_start(source, start.end)..],
        ]
        .concat();
        if keeps_conditions(file, definition, &path, &text) {
            return Ok(text);
        }
    }
    Err(EditRefusal::GroupsNotJoined {
        member: behind.to_owned(),
        place: file.place(first.unwrap_or(definition.body.open)),
    })
}

/// Returns true if the group of the `#if` can continue the group of the `#endif`.
fn are_joinable(
    body: &BracedBody,
    (end, start): (TokenIndex, TokenIndex),
    line: Option<&str>,
) -> bool {
    let first = body.groups.iter().find(|group| group.end == end);
    let second = body.groups.iter().find(|group| group.start == start);
    let is_else =
        |line: &str| directive_kind(line.trim()) == DirectiveKind::Else && !line.contains('\n');
    let (Some(first), Some(second)) = (first, second) else {
        return false;
    };
    let same_branch = first.else_directives.is_empty() && line.is_none();
    line.is_none_or(is_else) && (same_branch || second.else_directives.is_empty())
}

/// Path of the statement, or of the outermost anonymous struct or union that it ends.
fn outermost_ending_at(
    file: &TokenizedFile<'_>,
    definition: &StructDefinition,
    mut path: StatementPath,
) -> StatementPath {
    while let Some((&container, outer)) = path.bodies.split_last() {
        let body = definition.body_of(&path);
        let last = definition.statement(&path).last;
        let behind = (last + 1).through(file.tokens.end()).find(|&at| {
            file.tokens
                .get(at)
                .is_none_or(|token| token.kind != TokenKind::Comment)
        });
        if behind != Some(body.close) {
            break;
        }
        path = StatementPath {
            bodies: outer.to_vec(),
            statement: container,
        };
    }
    path
}

/// The last `#endif` behind token `last`, and the `#if` that follows it.
fn endif_and_if_behind(
    file: &TokenizedFile<'_>,
    last: TokenIndex,
) -> Option<(TokenIndex, TokenIndex)> {
    let mut end = None;
    for at in (last + 1).until(file.tokens.end()) {
        let kind = file.tokens[at].kind;
        match (kind, directive_kind(file.tokens[at].text(file.source))) {
            (TokenKind::Comment, _) if end.is_none() => {}
            (TokenKind::Directive, DirectiveKind::Endif) => end = Some(at),
            (TokenKind::Directive, DirectiveKind::If) => return Some((end?, at)),
            _ => return None,
        }
    }
    None
}
