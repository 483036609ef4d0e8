//! The places that a unit has now, in the words of a move.

use super::move_members::{Move, spacing_before};
use super::spacing::Spacing;
use super::unit::{last_name, unit};
use crate::body::{Body, Item};
use crate::change::{Change, Position};
use crate::find::{Definition, File};

/// Blank lines that may stand behind a declaration into which a member goes back.
const BLANK_MAX: usize = 2;

/// The moves that could take the one that is asked for back, of a definition like `old` in a text in which
/// no declaration has to be taken apart for it.
pub(crate) fn moves_back(
    file: &File<'_>,
    old: &Definition,
    asked: Move<'_>,
    comments_stay: bool,
) -> Vec<Change> {
    let Ok(definition) = file.definition_at(old) else {
        return Vec::new();
    };
    let Ok(spacing) = spacing_before(file, &definition, asked, comments_stay) else {
        return Vec::new();
    };
    let to = |to: Position, spacing: Spacing| Change::MoveMembers {
        members: asked.members.to_vec(),
        to,
        spacing: Some(spacing),
        reason: None,
    };
    let places = of(file, &definition, asked.members);
    // A comment above the first of several stays above the others; it goes behind those, to be joined.
    let behind = match comments_stay {
        true => { places.iter() }
            .find_map(|place| match place {
                Position::Before(next) => Some(next.clone()),
                _ => None,
            })
            .into_iter()
            .flat_map(|next| {
                (0..=BLANK_MAX).map(move |below| {
                    (
                        Position::After(next.clone()),
                        Spacing {
                            above: 0,
                            below,
                            ..spacing
                        },
                    )
                })
            })
            .collect(),
        false => Vec::new(),
    };
    let places = places.into_iter().map(|place| (place, spacing));
    places
        .chain(behind)
        .map(|(place, spacing)| to(place, spacing))
        .collect()
}

/// How the place of `members` could be named: behind the member before them, before the one
/// behind, or first.
fn of(file: &File<'_>, definition: &Definition, members: &[String]) -> Vec<Position> {
    let Ok(unit) = unit(file, definition, members, None) else {
        return Vec::new();
    };
    let body = definition.body_of(&unit.path());
    let own = last_name(&members[0]);
    let prefix = &members[0][..members[0].len() - own.len()];
    let before = unit.first.checked_sub(1).map(|index| &body.items[index]);
    let after = before.and_then(|item| edge(item, true));
    let next = body.items.get(unit.last + 1);
    let next = next.and_then(|item| edge(item, false));
    let mut found = Vec::new();
    found.extend(after.map(|name| Position::After(format!("{prefix}{name}"))));
    let next = next.map(|name| format!("{prefix}{name}"));
    found.extend(next.clone().map(Position::Before));
    found.extend(next.map(Position::Below));
    if unit.first == 0 {
        found.push(Position::First);
    }
    if unit.last + 1 == body.items.len() {
        found.push(Position::Last);
    }
    found
}

/// The last member that an item declares, by a path that begins as that of `member` in the same body does.
pub(crate) fn last_name_in(item: &Item, member: &str) -> Option<String> {
    let prefix = &member[..member.len() - last_name(member).len()];
    edge(item, true).map(|name| format!("{prefix}{name}"))
}

/// The name at an item's end or start: its own, or one inside of an anonymous struct.
fn edge(item: &Item, last: bool) -> Option<String> {
    let own = item.group_name.as_ref().or(match last {
        true => item.names.last(),
        false => item.names.first(),
    });
    own.cloned().or_else(|| inside(item.body.as_deref()?, last))
}

fn inside(body: &Body, last: bool) -> Option<String> {
    match last {
        true => edge(body.items.last()?, true),
        false => edge(body.items.first()?, false),
    }
}
