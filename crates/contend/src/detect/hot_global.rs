//! Variables that the linker put on one line: most transfers are false and between two objects.
//!
//! Example: a counter that every CPU bumps, next to a read-mostly switch.

use super::Context;
use crate::finding::{Kind, Subject};
use crate::group::{Group, object};
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
