//! Takes `#if` groups apart, so that every condition stays what it is, and puts them together again.
//!
//! Where something comes to stand in the middle of a group, the group ends before it and begins again
//! behind it. Of a group of which all of a branch moves away, that branch becomes a group of its own.

use super::conditional::{is_all_of, middle_of};
use super::gap::gap;
use super::move_members::{Move, statements};
use super::neighbours::last_name_in;
use super::situation::Situation;
use super::spacing::{blank_lines_above, blank_lines_below};
use super::unit::common;
use crate::body::{Body, Branch, Directive, directive};
use crate::change::Change;
use crate::condition::opening;
use crate::find::{Definition, File, ItemPath};
use crate::lex::Kind;
use crate::lines::{line_start, newline, next_line};
use crate::refusal::Refusal;

/// A text in which groups were taken apart.
pub(crate) struct Apart {
    pub text: String,
    /// What puts them together again.
    pub joins: Vec<Change>,
}

/// Lines to write in a place, from the first byte of a line to that of another.
struct Seam {
    start: usize,
    end: usize,
    text: String,
    joins: Vec<Change>,
}

/// The text with the groups taken apart that a move leaves a branch of, or goes into the middle of;
/// `None` where that is not what is in its way, or cannot be done.
pub(crate) fn apart(
    file: &File<'_>,
    definition: &Definition,
    asked: Move<'_>,
) -> Result<Option<Apart>, Refusal> {
    let at = Situation::new(file, definition, asked)?;
    let (own, theirs) = (at.own_branches(), at.their_branches());
    let level = common(own, theirs);
    let branch_of_one = |(own, theirs): (&Branch, &Branch)| own.0 == theirs.0;
    if own
        .get(level)
        .zip(theirs.get(level))
        .is_some_and(branch_of_one)
    {
        return Ok(None);
    }
    let left = own[level..]
        .iter()
        .filter_map(|&branch| left(file, &at, asked, branch));
    let mut seams: Vec<Seam> = left.collect();
    seams.extend(entered(file, &at, asked, level)?);
    if seams.is_empty() {
        return Ok(None);
    }
    // From the back, so that places before stay what they are.
    seams.sort_by_key(|seam| std::cmp::Reverse(seam.start));
    let mut text = file.source.to_owned();
    let mut joins = Vec::new();
    for seam in seams {
        text.replace_range(seam.start..seam.end, &seam.text);
        joins.extend(seam.joins);
    }
    let kept = keeps_conditions(file, definition, &at.unit.path(), &text);
    Ok(kept.then_some(Apart { text, joins }))
}

/// Whether `text` has the same statements in the body of `path`, under the same conditions.
fn keeps_conditions(file: &File<'_>, definition: &Definition, path: &ItemPath, text: &str) -> bool {
    let new = File::new(file.name, text);
    new.definition_at(definition).is_ok_and(|new_definition| {
        statements(&new, new_definition.body_of(path)) == statements(file, definition.body_of(path))
    })
}

/// Makes a group of its own of a branch that the unit is all of, if it is the last or one of two.
fn left(file: &File<'_>, at: &Situation<'_>, asked: Move<'_>, own: Branch) -> Option<Seam> {
    let (index, branch) = own;
    let group = &at.body.groups[index];
    let second = match (branch as usize, group.elses.len()) {
        (0, 1) => 1,
        (last, count) if last > 0 && last == count => last,
        _ => return None,
    };
    if !is_all_of(at.body, &at.unit, own) {
        return None;
    }
    let token = file.tokens[group.elses[second - 1]];
    let (start, end) = (
        line_start(file.source, token.start),
        next_line(file.source, token.end),
    );
    let eol = newline(file.source);
    let reopened = opening(file, group, u32::try_from(second).ok()?)?;
    let before = at
        .body
        .items
        .iter()
        .rposition(|item| item.last < group.elses[second - 1])?;
    let behind = last_name_in(&at.body.items[before], &asked.members[0])?;
    let line = file.source[start..end]
        .trim_end_matches(['\r', '\n'])
        .to_owned();
    Some(Seam {
        start,
        end,
        text: format!("#endif{eol}{reopened}{eol}"),
        joins: vec![Change::JoinGroups {
            behind,
            line: Some(line),
        }],
    })
}

/// Ends the groups in whose middle the unit comes to stand, and begins them again.
fn entered(
    file: &File<'_>,
    at: &Situation<'_>,
    asked: Move<'_>,
    level: usize,
) -> Result<Option<Seam>, Refusal> {
    let moves = |index| (at.unit.first..=at.unit.last).contains(&index);
    let Some((anchor, depth)) = at.anchor.and_then(|anchor| {
        Some((
            anchor,
            middle_of(at.body, anchor, &at.to, level, moves).last()?,
        ))
    }) else {
        return Ok(None);
    };
    let split = &at.their_branches()[level..=depth];
    // What follows of the group is not to get another condition.
    let last = |&(group, branch): &Branch| branch as usize == at.body.groups[group].elses.len();
    if !split.iter().all(|own| own.1 == 0 || last(own)) {
        return Ok(None);
    }
    let place = gap(
        file,
        at.body,
        Some(anchor),
        &at.to,
        depth + 1,
        &asked.members[0],
    )?;
    let before = place.before.checked_sub(1);
    let behind = before.and_then(|index| last_name_in(&at.body.items[index], &asked.members[0]));
    let openings: Option<Vec<String>> = { split.iter() }
        .map(|&(group, branch)| opening(file, &at.body.groups[group], branch))
        .collect();
    let (Some(behind), Some(openings)) = (behind, openings) else {
        return Ok(None);
    };
    let eol = newline(file.source);
    let closings: Vec<&str> = { split.iter().rev() }
        .map(|&(group, _)| closing(file, at.body, group))
        .collect();
    let (above, below) = (
        blank_lines_above(file.source, place.target),
        blank_lines_below(file.source, place.target),
    );
    let up = |at, _| line_start(file.source, at - 1);
    let down = |at, _| next_line(file.source, at);
    let lines = |lines: Vec<String>| {
        lines
            .iter()
            .map(|line| format!("{line}{eol}"))
            .collect::<String>()
    };
    Ok(Some(Seam {
        start: (0..above).fold(place.target, up),
        end: (0..below).fold(place.target, down),
        text: [
            lines(closings.iter().map(|&text| text.to_owned()).collect()),
            eol.repeat(above + below),
            lines(openings),
        ]
        .concat(),
        joins: vec![Change::JoinGroups { behind, line: None }; split.len()],
    }))
}

/// How a group ends where it is taken apart: as it does now, unless that is said of other branches as well.
fn closing<'a>(file: &File<'a>, body: &Body, group: usize) -> &'a str {
    let group = &body.groups[group];
    let text = file.tokens[group.end].text(file.source);
    match group.elses.is_empty() && !text.contains('\n') {
        true => text,
        false => "#endif",
    }
}

/// The text with the `#if` group that ends behind a member and the one that begins there as one.
pub(crate) fn join(
    file: &File<'_>,
    definition: &Definition,
    behind: &str,
    line: Option<&str>,
) -> Result<String, Refusal> {
    let mut first = None;
    for path in definition.members(file, behind)? {
        let path = outermost(file, definition, path);
        let last = definition.item(&path).last;
        first.get_or_insert(last);
        let Some((end, start)) = border(file, last) else {
            continue;
        };
        if !joinable(definition.body_of(&path), (end, start), line) {
            continue;
        }
        let (end, start) = (file.tokens[end], file.tokens[start]);
        let source = file.source;
        let line = line.map_or(String::new(), |line| format!("{line}{}", newline(source)));
        let text = [
            &source[..line_start(source, end.start)],
            &line,
            &source[next_line(source, end.end)..line_start(source, start.start)],
            &source[next_line(source, start.end)..],
        ]
        .concat();
        if keeps_conditions(file, definition, &path, &text) {
            return Ok(text);
        }
    }
    Err(Refusal::GroupsNotJoined {
        member: behind.to_owned(),
        place: file.place(first.unwrap_or(definition.body.open)),
    })
}

/// Whether what begins with the `#if` can be more branches of what ends with the `#endif`.
fn joinable(body: &Body, (end, start): (usize, usize), line: Option<&str>) -> bool {
    let first = body.groups.iter().find(|group| group.end == end);
    let second = body.groups.iter().find(|group| group.start == start);
    let is_else = |line: &str| directive(line.trim()) == Directive::Else && !line.contains('\n');
    let (Some(first), Some(second)) = (first, second) else {
        return false;
    };
    let same_branch = first.elses.is_empty() && line.is_none();
    line.is_none_or(is_else) && (same_branch || second.elses.is_empty())
}

/// The item, or the anonymous struct or union that it is the last of.
fn outermost(file: &File<'_>, definition: &Definition, mut path: ItemPath) -> ItemPath {
    while let Some((&container, outer)) = path.bodies.split_last() {
        let body = definition.body_of(&path);
        let last = definition.item(&path).last;
        let behind = (last + 1..).find(|&at| {
            file.tokens
                .get(at)
                .is_none_or(|one| one.kind != Kind::Comment)
        });
        if behind != Some(body.close) {
            break;
        }
        path = ItemPath {
            bodies: outer.to_vec(),
            item: container,
        };
    }
    path
}

/// The last `#endif` behind token `last` and the `#if` right behind that.
fn border(file: &File<'_>, last: usize) -> Option<(usize, usize)> {
    let mut end = None;
    for at in last + 1..file.tokens.len() {
        let kind = file.tokens[at].kind;
        match (kind, directive(file.tokens[at].text(file.source))) {
            (Kind::Comment, _) if end.is_none() => {}
            (Kind::Directive, Directive::Endif) => end = Some(at),
            (Kind::Directive, Directive::If) => return Some((end?, at)),
            _ => return None,
        }
    }
    None
}
