//! What the places of a group are called.

use std::collections::BTreeMap;

use crate::group::{self, Group, object};
use crate::identify::Place;

pub(crate) fn own_name(place: &Place) -> String {
    match place {
        Place::Member { member, .. } => member.path.clone(),
        Place::Scalar(object) => object.variable.clone().unwrap_or_default(),
        Place::Unresolved(class) => class.clone(),
    }
}

/// The name of `there`, the other side of an access to `here`; with its object's where that is another
/// one.
pub(crate) fn other_name(here: &Place, there: &Place) -> String {
    let own = own_name(there);
    match (there, object(here) == object(there)) {
        (Place::Member { .. }, false) => match object_name(there) {
            name if own.is_empty() => name,
            name => format!("{name}.{own}"),
        },
        _ => own,
    }
}

/// What to call an object as a whole.
fn object_name(place: &Place) -> String {
    match place {
        Place::Member { object, member } => match (&object.variable, member.types_path.first()) {
            (Some(name), _) | (None, Some(name)) => name.clone(),
            (None, None) => String::new(),
        },
        Place::Scalar(object) => object.variable.clone().unwrap_or_default(),
        Place::Unresolved(class) => class.clone(),
    }
}

pub(crate) fn neighbours(group: &Group) -> BTreeMap<String, u64> {
    let mut neighbours = BTreeMap::new();
    for conflict in &group.conflicts {
        let transfers = group::tally(conflict.row).transfers();
        if transfers > 0 && object(conflict.here) != object(conflict.there) {
            *neighbours.entry(object_name(conflict.there)).or_default() += transfers;
        }
    }
    neighbours
}

pub(super) fn origins(group: &Group) -> BTreeMap<String, u64> {
    let mut origins = BTreeMap::new();
    for conflict in &group.conflicts {
        let origin = object(conflict.here).and_then(|object| object.origin.clone());
        if let Some(origin) = origin {
            *origins.entry(origin).or_default() += group::tally(conflict.row).transfers();
        }
    }
    origins
}

/// The types down to the member with the most transfers.
pub(super) fn types_path(group: &Group) -> Vec<String> {
    let mut transfers: BTreeMap<&[String], u64> = BTreeMap::new();
    for conflict in &group.conflicts {
        if let Place::Member { member, .. } = conflict.here {
            *transfers.entry(&member.types_path).or_default() +=
                group::tally(conflict.row).transfers();
        }
    }
    // The first of equals in order of names.
    let most = transfers
        .into_iter()
        .rev()
        .max_by_key(|(_, transfers)| *transfers);
    most.map(|(path, _)| path.to_vec()).unwrap_or_default()
}
