//! The places that a unit has now, in the words of a move.

use super::unit::{last_name, unit};
use crate::body::{Body, Item};
use crate::change::Position;
use crate::find::{Definition, File, ItemPath};

/// How the place of `members` could be named: behind the member before them, before the one
/// behind, or first.
pub(crate) fn of(file: &File<'_>, definition: &Definition, members: &[String]) -> Vec<Position> {
    let Ok(unit) = unit(file, definition, members, None) else {
        return Vec::new();
    };
    let body = definition.body_of(&ItemPath {
        bodies: unit.bodies.clone(),
        item: unit.first,
    });
    let own = last_name(&members[0]);
    let prefix = &members[0][..members[0].len() - own.len()];
    let before = unit.first.checked_sub(1).map(|index| &body.items[index]);
    let after = before.and_then(|item| edge(item, true));
    let next = body.items.get(unit.last + 1);
    let next = next.and_then(|item| edge(item, false));
    let mut found = Vec::new();
    found.extend(after.map(|name| Position::After(format!("{prefix}{name}"))));
    found.extend(next.map(|name| Position::Before(format!("{prefix}{name}"))));
    if unit.first == 0 {
        found.push(Position::First);
    }
    found
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
