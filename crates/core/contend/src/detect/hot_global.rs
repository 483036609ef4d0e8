//! Variables that the linker put on one line: most transfers are false, and between two objects.
//! Of local variables, which the compiler puts there, it is false sharing.
//!
//! Example: a counter that every CPU increments, next to a read-mostly switch.

use super::DetectContext;
use crate::finding::{FindingKind, FindingSubject};
use crate::group::{LineGroup, object_at};
use crate::names::neighbours;
use crate::remedy::Remedy;
use crate::replay::CoherenceTally;

pub(super) fn detect(
    group: &LineGroup,
    tally: &CoherenceTally,
    _: &DetectContext,
) -> Option<FindingKind> {
    if matches!(group.subject, FindingSubject::Type { .. }) {
        return None;
    }
    let between_objects: u64 = group
        .conflicts
        .iter()
        .filter(|conflict| object_at(conflict.here) != object_at(conflict.there))
        .map(|conflict| conflict.row.false_lifetime)
        .sum();
    let kind = match group.subject {
        FindingSubject::Local { .. } => FindingKind::FalseSharing,
        _ => FindingKind::HotGlobal,
    };
    super::is_majority(between_objects, tally.transfers()).then_some(kind)
}

pub(super) fn remedy(group: &LineGroup) -> Option<Remedy> {
    let mut neighbours: Vec<(String, u64)> = neighbours(group).into_iter().collect();
    neighbours.sort_by_key(|(_, transfers)| std::cmp::Reverse(*transfers));
    let variable = group.subject.variable()?.to_owned();
    Some(Remedy::OwnLine {
        is_local: matches!(group.subject, FindingSubject::Local { .. }),
        is_read_mostly: super::read_mostly::is_read_mostly(group, &variable),
        variable,
        neighbours: neighbours.into_iter().map(|(name, _)| name).collect(),
    })
}

/// Advises a line of its own for a local variable.
pub(super) fn remedy_of_local(group: &LineGroup) -> Option<Remedy> {
    let is_local = matches!(group.subject, FindingSubject::Local { .. });
    is_local.then(|| remedy(group)).flatten()
}
