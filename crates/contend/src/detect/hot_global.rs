//! Variables that the linker put on one line: most transfers are false and between two objects.
//!
//! Example: a counter that every CPU bumps, next to a read-mostly switch.

use super::Context;
use crate::find::neighbours;
use crate::finding::{Kind, Subject};
use crate::group::{Group, object};
use crate::remedy::Remedy;
use crate::replay::Tally;

pub(super) fn detect(group: &Group, tally: &Tally, _: &Context) -> Option<Kind> {
    if matches!(group.subject, Subject::Type { .. }) {
        return None;
    }
    let between: u64 = group
        .conflicts
        .iter()
        .filter(|conflict| object(conflict.here) != object(conflict.there))
        .map(|conflict| conflict.row.false_lifetime)
        .sum();
    super::most(between, tally.transfers()).then_some(Kind::HotGlobal)
}

pub(super) fn remedy(group: &Group) -> Option<Remedy> {
    let mut neighbours: Vec<(String, u64)> = neighbours(group).into_iter().collect();
    neighbours.sort_by_key(|(_, transfers)| std::cmp::Reverse(*transfers));
    let variable = group.subject.variable()?.to_owned();
    Some(Remedy::OwnLine {
        is_read_mostly: super::read_mostly::is_read_mostly(group, &variable),
        variable,
        neighbours: neighbours.into_iter().map(|(name, _)| name).collect(),
    })
}
