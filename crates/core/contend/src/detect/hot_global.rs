//! Variables that the linker put on one line: most transfers are false, and between two objects.
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
    super::is_majority(between_objects, tally.transfers()).then_some(FindingKind::HotGlobal)
}

pub(super) fn remedy(group: &LineGroup) -> Option<Remedy> {
    let mut neighbours: Vec<(String, u64)> = neighbours(group).into_iter().collect();
    neighbours.sort_by_key(|(_, transfers)| std::cmp::Reverse(*transfers));
    let variable = group.subject.variable()?.to_owned();
    Some(Remedy::OwnLine {
        is_read_mostly: super::read_mostly::is_read_mostly(group, &variable),
        variable,
        neighbours: neighbours.into_iter().map(|(name, _)| name).collect(),
    })
}
