//! Names of the targets and objects of a group.

use std::collections::BTreeMap;

use relayout_profile::{AccessKind, Addr, SiteId};

use crate::finding::AccessSide;
use crate::group::{self, LineGroup, object_at};
use crate::identify::{AccessTarget, AddressNamer, TargetObject};
use crate::source_cache::SourceCache;
use crate::type_confidence::CONFIDENCE_MIN_PERCENT;

pub(crate) fn target_name(place: &AccessTarget) -> String {
    match place {
        AccessTarget::Member { member, .. } => member.path.clone(),
        AccessTarget::Scalar(object) => object.variable.clone().unwrap_or_default(),
        AccessTarget::Unresolved(class) => class.clone(),
    }
}

impl AccessTarget {
    /// Returns the name of the member with that of its object: `pcpu_chunk.free_bytes`; of a hole, that of the object.
    ///
    /// ```
    /// use relayout_contend::AccessTarget;
    ///
    /// assert_eq!(AccessTarget::Unresolved("stack".into()).full_name(), "stack");
    /// ```
    pub fn full_name(&self) -> String {
        match (self, target_name(self)) {
            (Self::Member { .. }, member) if member.is_empty() => object_name(self),
            (Self::Member { .. }, member) => format!("{}.{member}", object_name(self)),
            (_, name) => name,
        }
    }
}

/// Returns the name of `there`, the other side of an access to `here`; with the object's name
/// before it where that is another object.
pub(crate) fn other_side_name(here: &AccessTarget, there: &AccessTarget) -> String {
    match object_at(here) == object_at(there) {
        true => target_name(there),
        false => there.full_name(),
    }
}

/// Returns an access and the other side of it, as findings name them.
pub(crate) fn access_sides<I: AddressNamer>(
    [here, there]: [&AccessTarget; 2],
    [own, other]: [(SiteId, AccessKind); 2],
    sources: &mut SourceCache<'_, I>,
) -> (AccessSide, AccessSide) {
    let mut side = |member, (site, access)| AccessSide {
        member,
        access,
        source: sources.get(site),
    };
    (
        side(target_name(here), own),
        side(other_side_name(here, there), other),
    )
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

/// Returns the type that most transfers on objects of an uncertain type have as its rival.
pub(crate) fn rival_type(group: &LineGroup) -> Option<String> {
    let uncertain = group.conflicts.iter().filter_map(|conflict| {
        let object = object_at(conflict.here)?;
        let rival = object.rival_type.as_deref()?;
        let is_uncertain = object.type_percent < CONFIDENCE_MIN_PERCENT;
        is_uncertain.then(|| (rival, group::row_tally(conflict.row).transfers()))
    });
    most_by_name(uncertain).map(|(name, _)| name.to_owned())
}

/// Returns the types down to the member with the most transfers, given by target.
pub(crate) fn types_path<'t>(
    transfers: impl Iterator<Item = (&'t AccessTarget, u64)>,
) -> Vec<String> {
    let members = transfers.filter_map(|(target, count)| match target {
        AccessTarget::Member { member, .. } => Some((member.types_path.as_slice(), count)),
        _ => None,
    });
    most_by_name(members).map_or_else(Vec::new, |(path, _)| path.to_vec())
}

/// Sums counts by name and returns the largest sum: the first of equals in order of names.
pub(crate) fn most_by_name<N: Ord>(counts: impl Iterator<Item = (N, u64)>) -> Option<(N, u64)> {
    let mut sums: BTreeMap<N, u64> = BTreeMap::new();
    for (name, count) in counts {
        let sum = sums.entry(name).or_default();
        *sum = sum.saturating_add(count);
    }
    sums.into_iter().rev().max_by_key(|(_, sum)| *sum)
}

/// Offset, size and name of a member of a finding.
pub(crate) type MemberKey = (i64, u64, String);

/// Returns the key of the target of an access. A hole has no bounds of its own, so the byte names
/// it. `scalar_offset` gives the offset of a variable.
pub(crate) fn member_key(
    target: &AccessTarget,
    addr: Addr,
    scalar_offset: impl FnOnce(&TargetObject) -> i64,
) -> Option<MemberKey> {
    match target {
        AccessTarget::Member { object, member } if member.path.is_empty() => {
            Some((addr.wrapping_sub(object.base) as i64, 1, String::new()))
        }
        AccessTarget::Member { member, .. } => {
            Some((member.offset as i64, member.size, member.path.clone()))
        }
        AccessTarget::Scalar(object) => {
            let name = object.variable.clone().unwrap_or_default();
            Some((scalar_offset(object), object.bytes, name))
        }
        AccessTarget::Unresolved(_) => None,
    }
}
