//! Moves a member behind another, or to the front: whole lines, with the comments that belong to
//! it; an `#if` group that holds nothing else goes along.
//!
//! Blank lines: a member with a blank line above that is the last of its paragraph, or that has a
//! comment of its own above, takes that blank line along, so that moving it back gives the old
//! text. Two blank lines never come to stand together.

use super::block::{Block, Shared, lines_with_comments};
use super::comment;
use crate::body::{Body, Branch, Directive, Item, directive};
use crate::declarator::What;
use crate::find::{Definition, File, ItemPath};
use crate::lex::Kind;
use crate::lines::{is_blank, line_start, newline, next_line};
use crate::refusal::Refusal;

/// A move that has been found legal.
struct Plan<'a> {
    body: &'a Body,
    item: usize,
    /// Index of the item to follow; `None` for the front.
    anchor: Option<usize>,
    /// The `#if` group that moves as a whole.
    group: Option<usize>,
    /// Number of `#if` branches that both ends stand in.
    shared: usize,
    /// Index of the item that it comes to stand before: behind the anchor, and behind the rest
    /// of an `#if` group that the anchor ends a branch of.
    before: usize,
}

/// The text with `member` moved.
pub(crate) fn apply(
    file: &File<'_>,
    definition: &Definition,
    member: &str,
    after: Option<&str>,
    reason: Option<&str>,
) -> Result<String, Refusal> {
    let path = definition.member(file, member)?;
    let plan = plan(file, definition, &path, member, after)?;
    let item = &plan.body.items[plan.item];
    let shared_line = |token| Refusal::SharedLine {
        member: member.to_owned(),
        place: file.place(token),
    };
    let block = lines_with_comments(file, plan.body, item, plan.group)
        .map_err(|Shared| shared_line(item.first))?;
    let target = match plan.anchor {
        Some(anchor) => {
            let anchor_item = &plan.body.items[anchor];
            let group = anchor_item
                .branches
                .get(plan.shared)
                .map(|&(group, _)| group);
            lines_with_comments(file, plan.body, anchor_item, group)
                .map_err(|Shared| shared_line(anchor_item.first))?
                .end
        }
        None => brace_line_end(file, plan.body).ok_or_else(|| shared_line(plan.body.open))?,
    };
    let new = splice(file, item, &block, target, plan.anchor.is_none(), reason)?;
    check(file, definition, &path, &plan, &new)?;
    Ok(new)
}

fn plan<'a>(
    file: &File<'_>,
    definition: &'a Definition,
    path: &ItemPath,
    member: &str,
    after: Option<&str>,
) -> Result<Plan<'a>, Refusal> {
    let body = definition.body_of(path);
    let item = definition.item(path);
    movable(file, definition, path, member)?;
    let anchor = match after {
        Some(after) => {
            let anchor = lifted(
                definition,
                definition.member(file, after)?,
                path.bodies.len(),
            );
            if anchor.bodies != path.bodies {
                let place = file.place(definition.item(&anchor).first);
                return Err(Refusal::NestedStruct {
                    member: member.to_owned(),
                    place,
                });
            }
            anchor_usable(file, definition.item(&anchor), after)?;
            Some(anchor.item)
        }
        None => {
            leads(file, definition, path, member)?;
            None
        }
    };
    let (shared, group) = conditionals(file, body, path.item, anchor, member)?;
    let before = position(body, anchor, shared);
    let same_branches = item.branches.len() == shared
        && anchor.is_none_or(|anchor| body.items[anchor].branches.len() == shared);
    if anchor == Some(path.item) || (before == path.item && same_branches) {
        return Err(Refusal::NothingToDo {
            member: member.to_owned(),
            place: file.place(item.first),
        });
    }
    let plan = Plan {
        body,
        item: path.item,
        anchor,
        group,
        shared,
        before,
    };
    crossings(file, &plan, member)?;
    Ok(plan)
}

/// Index of the first item behind the anchor that is outside of the anchor's inner `#if` groups.
fn position(body: &Body, anchor: Option<usize>, shared: usize) -> usize {
    let Some(anchor) = anchor else { return 0 };
    let group = |index: usize| {
        body.items[index]
            .branches
            .get(shared)
            .map(|&(group, _)| group)
    };
    let inside = |&index: &usize| group(anchor).is_some() && group(index) == group(anchor);
    anchor + 1 + (anchor + 1..body.items.len()).take_while(inside).count()
}

/// The last member of an anonymous struct or union stands for the whole of it, which has no name
/// to be called by.
fn lifted(definition: &Definition, mut anchor: ItemPath, depth: usize) -> ItemPath {
    while anchor.bodies.len() > depth && anchor.item + 1 == definition.body_of(&anchor).items.len()
    {
        let Some((&container, outer)) = anchor.bodies.split_last() else {
            break;
        };
        let up = ItemPath {
            bodies: outer.to_vec(),
            item: container,
        };
        if !definition.item(&up).names.is_empty() {
            break;
        }
        anchor = up;
    }
    anchor
}

/// Refuses members that cannot move at all.
fn movable(
    file: &File<'_>,
    definition: &Definition,
    path: &ItemPath,
    member: &str,
) -> Result<(), Refusal> {
    let item = definition.item(path);
    let body = definition.body_of(path);
    let (member, place) = (member.to_owned(), file.place(item.first));
    if definition.in_union(path) {
        return Err(Refusal::Union {
            name: member,
            place,
        });
    }
    match item.what {
        What::Macro | What::Unsure | What::Border => {
            return Err(Refusal::MacroMember { member, place });
        }
        What::Flexible => return Err(Refusal::FlexibleArray { member, place }),
        What::Bitfield if bitfield_at(body, path.item + 1) || bitfield_before(body, path.item) => {
            return Err(Refusal::BitfieldRun { member, place });
        }
        _ => {}
    }
    if item.names.len() > 1 {
        return Err(Refusal::SharedDeclaration { member, place });
    }
    Ok(())
}

/// Refuses positions that cannot be told or must stay last.
fn anchor_usable(file: &File<'_>, anchor: &Item, after: &str) -> Result<(), Refusal> {
    let (member, place) = (after.to_owned(), file.place(anchor.first));
    match anchor.what {
        What::Macro | What::Unsure | What::Border => Err(Refusal::MacroMember { member, place }),
        What::Flexible => Err(Refusal::FlexibleArray { member, place }),
        _ if anchor
            .names
            .last()
            .is_some_and(|last| Some(last.as_str()) != after.rsplit('.').next()) =>
        {
            Err(Refusal::SharedDeclaration { member, place })
        }
        _ => Ok(()),
    }
}

/// The front of an anonymous struct is the front of what it stands in only if nothing stands
/// before it; the front of a named one is a place of its own.
fn leads(
    file: &File<'_>,
    definition: &Definition,
    path: &ItemPath,
    member: &str,
) -> Result<(), Refusal> {
    let anonymous = |depth: &usize| {
        let (outer, step) = (path.bodies[..*depth].to_vec(), path.bodies[*depth]);
        let container = ItemPath {
            bodies: outer,
            item: step,
        };
        definition.item(&container).names.is_empty()
    };
    let inner = (0..path.bodies.len()).rev().take_while(anonymous);
    if inner.map(|depth| path.bodies[depth]).all(|step| step == 0) {
        return Ok(());
    }
    Err(Refusal::NestedStruct {
        member: member.to_owned(),
        place: file.place(definition.body.open),
    })
}

/// How many `#if` branches both ends share, and the group around the member that moves along.
fn conditionals(
    file: &File<'_>,
    body: &Body,
    item: usize,
    anchor: Option<usize>,
    member: &str,
) -> Result<(usize, Option<usize>), Refusal> {
    let own = &body.items[item].branches;
    let theirs: &[Branch] = anchor.map_or(&[], |anchor| &body.items[anchor].branches);
    let shared = own.iter().zip(theirs).take_while(|(a, b)| a == b).count();
    let refuse = |token| Refusal::ConditionalGroup {
        member: member.to_owned(),
        place: file.place(token),
    };
    let group = own.get(shared).map(|&(group, _)| group);
    if let Some(group) = group
        && !sole_in_group(file, body, item, group)
    {
        return Err(refuse(body.groups[group].start));
    }
    if let Some(anchor) = anchor {
        for (level, &(group, branch)) in theirs.iter().enumerate().skip(shared) {
            let later = body.items[anchor + 1..].iter();
            let more = later
                .clone()
                .any(|next| next.branches.get(level) == Some(&(group, branch)));
            if more || group_holds_other_branch(own, level, group) {
                return Err(refuse(body.groups[group].start));
            }
        }
    }
    Ok((shared, group))
}

fn group_holds_other_branch(own: &[Branch], level: usize, group: usize) -> bool {
    own.get(level).is_some_and(|&(own, _)| own == group)
}

/// Whether `#if` and `#endif` hold this item and no other directive or statement.
fn sole_in_group(file: &File<'_>, body: &Body, item: usize, group: usize) -> bool {
    let bounds = body.groups[group];
    let reader = file.reader();
    let plain = (bounds.start + 1..bounds.end).all(|at| {
        file.tokens[at].kind != Kind::Directive
            || (body.items[item].first..body.items[item].last).contains(&at)
    });
    let alone = body.items.iter().enumerate().all(|(index, other)| {
        index == item || other.last < bounds.start || other.first > bounds.end
    });
    plain && alone && directive(reader.text(bounds.start)) == Directive::If
}

/// Refuses moves over the border of randomised members and into a run of bitfields.
fn crossings(file: &File<'_>, plan: &Plan<'_>, member: &str) -> Result<(), Refusal> {
    let items = &plan.body.items;
    let at = plan.before;
    let crossed = if at <= plan.item {
        &items[at..plan.item]
    } else {
        &items[plan.item + 1..at]
    };
    if let Some(border) = crossed.iter().find(|item| item.what == What::Border) {
        let place = file.place(border.first);
        return Err(Refusal::RandomizedBorder {
            member: member.to_owned(),
            place,
        });
    }
    if bitfield_at(plan.body, at) && bitfield_before(plan.body, at) {
        let place = file.place(items[at].first);
        return Err(Refusal::BitfieldRun {
            member: member.to_owned(),
            place,
        });
    }
    Ok(())
}

fn bitfield_at(body: &Body, index: usize) -> bool {
    body.items
        .get(index)
        .is_some_and(|item| item.what == What::Bitfield)
}

fn bitfield_before(body: &Body, index: usize) -> bool {
    index
        .checked_sub(1)
        .is_some_and(|before| bitfield_at(body, before))
}

/// First byte after the line of the opening brace, when no code follows the brace there.
fn brace_line_end(file: &File<'_>, body: &Body) -> Option<usize> {
    let after = file.tokens[body.open].end;
    let end = next_line(file.source, after);
    let next = file.tokens.get(body.open + 1)?;
    (next.start >= end && end > after && file.source[after..end].trim().is_empty()).then_some(end)
}

/// Cuts the block out and puts it in at byte `target`.
fn splice(
    file: &File<'_>,
    item: &Item,
    block: &Block,
    target: usize,
    front: bool,
    reason: Option<&str>,
) -> Result<String, Refusal> {
    let source = file.source;
    let blank_above = blank_line_above(source, block.start);
    let closes = closes_body(source, block.end);
    let blank_below = is_blank(source, block.end);
    let takes_blank = blank_above.is_some() && (closes || block.start < block.own);
    let opens = blank_above.is_none() && opens_body(source, block.start);
    let drops_blank = !takes_blank && blank_below && (blank_above.is_some() || opens);

    let mut text = source[block.start..block.own].to_owned();
    if let Some(reason) = reason {
        let first = file.tokens[item.first].start;
        let indent = &source[line_start(source, first)..first];
        let name = item.names.first().map_or("", String::as_str);
        text += &comment::render(source, indent, &[reason], name)?;
    }
    text += &source[block.own..block.end];
    if !text.ends_with('\n') {
        text += newline(source);
    }
    let mut cut_start = block.start;
    let mut cut_end = block.end;
    if takes_blank && let Some(above) = blank_above {
        let blank = source[above..block.start].to_owned();
        text = if front { text + &blank } else { blank + &text };
        cut_start = above;
    } else if drops_blank {
        cut_end = next_line(source, block.end);
    }
    // The cut and the target never overlap, apart from a blank line that would go along.
    let target = if target > cut_start && target < cut_end {
        cut_start
    } else {
        target
    };
    Ok(if target <= cut_start {
        [
            &source[..target],
            &text,
            &source[target..cut_start],
            &source[cut_end..],
        ]
        .concat()
    } else {
        [
            &source[..cut_start],
            &source[cut_end..target],
            &text,
            &source[target..],
        ]
        .concat()
    })
}

/// Start of the line above byte `start`, when that is blank.
fn blank_line_above(source: &str, start: usize) -> Option<usize> {
    let above = line_start(source, start.checked_sub(1)?);
    is_blank(source, above).then_some(above)
}

fn closes_body(source: &str, at: usize) -> bool {
    source[at..].trim_start().starts_with('}') && !is_blank(source, at)
}

fn opens_body(source: &str, at: usize) -> bool {
    source[..at].trim_end().ends_with('{')
}

/// Reads the result back: the same statements in the new order, all else in place.
fn check(
    file: &File<'_>,
    definition: &Definition,
    path: &ItemPath,
    plan: &Plan<'_>,
    new: &str,
) -> Result<(), Refusal> {
    let wrong = || Refusal::NotAsIntended {
        name: definition.name.clone(),
        place: definition.place.clone(),
    };
    let mut expect = statements(file, plan.body);
    let moved = expect.remove(plan.item);
    let at = plan.before;
    expect.insert(if at > plan.item { at - 1 } else { at }, moved);

    let new_file = File::new(file.name, new);
    let new_definition = new_file
        .definition(&definition.name, None)
        .map_err(|_| wrong())?;
    // Items before the moved one inside outer bodies keep their indexes: only this body changed.
    let new_body = new_definition.body_of(path);
    if statements(&new_file, new_body) != expect {
        return Err(wrong());
    }
    Ok(())
}

/// Each statement's code with the number of `#if` branches around it.
fn statements(file: &File<'_>, body: &Body) -> Vec<(usize, String)> {
    body.items
        .iter()
        .map(|item| {
            let code = file.tokens[item.first..=item.last]
                .iter()
                .filter(|token| token.kind != Kind::Comment);
            let words: Vec<&str> = code.map(|token| token.text(file.source)).collect();
            (item.branches.len(), words.join(" "))
        })
        .collect()
}
