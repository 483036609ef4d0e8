//! False and true sharing.
//!
//! The decision is by lifetime, since that is what another placement could save. A CPU that reads
//! `base_addr` and then, under the lock, stores to `free_bytes` needs the line anyway, though its
//! first touch was false.

mod member_mix;

use std::collections::BTreeMap;

use relayout_profile::{CoherenceEvent, Profile, SiteId};

use crate::finding::FindingKind;
use crate::group::{LineGroup, ResolvedConflict, object_at};
use crate::identify::{AccessTarget, SiteOperation};
use crate::names::{most_by_name, target_name};
use crate::remedy::Remedy;
use crate::replay::CoherenceTally;

pub(super) fn classify(tally: &CoherenceTally) -> FindingKind {
    if super::is_majority(tally.false_lifetime, tally.transfers()) {
        FindingKind::FalseSharing
    } else {
        FindingKind::TrueSharing
    }
}

/// Advises which members or objects to separate: objects that share the line, if most false
/// transfers are between objects, else the two members with the most. Two members of one name are
/// elements of an array.
pub(super) fn separate_remedy(group: &LineGroup) -> Option<Remedy> {
    let (within, between): (Vec<&ResolvedConflict>, Vec<&ResolvedConflict>) =
        { group.conflicts.iter() }
            .partition(|conflict| object_at(conflict.here) == object_at(conflict.there));
    let sum = |conflicts: &[&ResolvedConflict]| {
        let transfers = conflicts.iter().map(|conflict| conflict.row.false_lifetime);
        transfers.fold(0, u64::saturating_add)
    };
    let between_objects = sum(&between);
    if between_objects > sum(&within) {
        return Some(Remedy::SeparateObjects {
            transfers: between_objects,
        });
    }
    let pairs = within.into_iter().map(|conflict| {
        let names = (target_name(conflict.here), target_name(conflict.there));
        (names, conflict.row.false_lifetime)
    });
    let most = most_by_name(pairs);
    let ((member, from), transfers) = most.filter(|(_, transfers)| *transfers > 0)?;
    Some(match member == from {
        true => Remedy::SeparateElements { member, transfers },
        false => Remedy::SeparateMembers {
            member,
            from,
            transfers,
        },
    })
}

/// Advises where most transfers bring what is used, by the use of the member whose stores most transfers bring.
/// `operation` tells what an instruction does.
pub(super) fn shared_remedy(
    group: &LineGroup,
    profile: &Profile,
    operation: impl Fn(SiteId) -> SiteOperation,
) -> Option<Remedy> {
    let mut needed: BTreeMap<String, (u64, &AccessTarget)> = BTreeMap::new();
    for conflict in &group.conflicts {
        let target = stored_target(conflict);
        let sum = needed.entry(target_name(target)).or_insert((0, target));
        sum.0 += needed_transfers(conflict);
    }
    let most = needed.into_iter().rev().max_by_key(|(_, (sum, _))| *sum);
    let (member, (_, place)) = most?;
    Some(Remedy::Shared {
        pattern: member_mix::sharing_pattern(group, profile, &operation, (&member, place)),
        member,
    })
}

/// Returns the target that another context stored to and that was then needed: the other side, if
/// that is in the same object.
fn stored_target<'a>(conflict: &ResolvedConflict<'a>) -> &'a AccessTarget {
    match object_at(conflict.here) == object_at(conflict.there) {
        true => conflict.there,
        false => conflict.here,
    }
}

/// Returns the transfers that bring bytes which are used.
fn needed_transfers(conflict: &ResolvedConflict) -> u64 {
    match conflict.row.transfer {
        CoherenceEvent::Upgrade => 0,
        _ => conflict
            .row
            .count
            .saturating_sub(conflict.row.false_lifetime),
    }
}
