//! Names of the targets and objects of a group.

use std::collections::BTreeMap;

use crate::group::{self, LineGroup, object_at};
use crate::identify::AccessTarget;

pub(crate) fn target_name(place: &AccessTarget) -> String {
    match place {
        AccessTarget::Member { member, .. } => member.path.clone(),
        AccessTarget::Scalar(object) => object.variable.clone().unwrap_or_default(),
        AccessTarget::Unresolved(class) => class.clone(),
    }
}

/// Returns the name of `there`, the other side of an access to `here`; with the object's name
/// before it where that is another object.
pub(crate) fn other_side_name(here: &AccessTarget, there: &AccessTarget) -> String {
    let own = target_name(there);
    match (there, object_at(here) == object_at(there)) {
        (AccessTarget::Member { .. }, false) => match object_name(there) {
            name if own.is_empty() => name,
            name => format!("{name}.{own}"),
        },
        _ => own,
    }
}

/// Returns the name of an object as a whole.
fn object_name(place: &AccessTarget) -> String {
    match place {
        AccessTarget::Member { object, member } => {
            match (&object.variable, member.types_path.first()) {
                (Some(name), _) | (None, Some(name)) => name.clone(),
                (None, None) => String::new(),
            }
        }
        AccessTarget::Scalar(object) => object.variable.clone().unwrap_or_default(),
        AccessTarget::Unresolved(class) => class.clone(),
    }
}

pub(crate) fn neighbours(group: &LineGroup) -> BTreeMap<String, u64> {
    let mut neighbours = BTreeMap::new();
    for conflict in &group.conflicts {
        let transfers = group::row_tally(conflict.row).transfers();
        if transfers > 0 && object_at(conflict.here) != object_at(conflict.there) {
            *neighbours.entry(object_name(conflict.there)).or_default() += transfers;
        }
    }
    neighbours
}

pub(crate) fn origins(group: &LineGroup) -> BTreeMap<String, u64> {
    let mut origins = BTreeMap::new();
    for conflict in &group.conflicts {
        let origin = object_at(conflict.here).and_then(|object| object.origin.clone());
        if let Some(origin) = origin {
            *origins.entry(origin).or_default() += group::row_tally(conflict.row).transfers();
        }
    }
    origins
}

/// Returns the types down to the member with the most transfers.
pub(crate) fn types_path(group: &LineGroup) -> Vec<String> {
    let mut transfers: BTreeMap<&[String], u64> = BTreeMap::new();
    for conflict in &group.conflicts {
        if let AccessTarget::Member { member, .. } = conflict.here {
            *transfers.entry(&member.types_path).or_default() +=
                group::row_tally(conflict.row).transfers();
        }
    }
    // The first of equals in order of names.
    let most = transfers
        .into_iter()
        .rev()
        .max_by_key(|(_, transfers)| *transfers);
    most.map(|(path, _)| path.to_vec()).unwrap_or_default()
}
