//! False or true sharing.
//!
//! Decided by lifetime, since that is what another placement could save: a CPU that reads
//! `base_addr` and then, under the lock, writes `free_bytes` needs the line anyway, though its
//! first touch was false.

mod mix;

use std::collections::BTreeMap;

use relayout_profile::{Profile, Transfer};

use crate::find::own_name;
use crate::finding::Kind;
use crate::group::{Conflict, Group, object};
use crate::identify::Place;
use crate::remedy::Remedy;
use crate::replay::Tally;

pub(super) fn kind(tally: &Tally) -> Kind {
    if super::most(tally.false_lifetime, tally.transfers()) {
        Kind::FalseSharing
    } else {
        Kind::TrueSharing
    }
}

/// What to part from what: objects that share the line, if that is most of it; else the two members whose
/// conflicts are false most often. Of one name those are elements of an array.
pub(super) fn part(group: &Group) -> Option<Remedy> {
    let (mut pairs, mut between) = (BTreeMap::<(String, String), u64>::new(), 0_u64);
    for conflict in &group.conflicts {
        let transfers = conflict.row.false_lifetime;
        if object(conflict.here) != object(conflict.there) {
            between = between.saturating_add(transfers);
            continue;
        }
        let names = (own_name(conflict.here), own_name(conflict.there));
        *pairs.entry(names).or_default() += transfers;
    }
    let within: u64 = pairs.values().sum();
    if between > within {
        return Some(Remedy::PartObjects { transfers: between });
    }
    let most = pairs
        .into_iter()
        .rev()
        .max_by_key(|(_, transfers)| *transfers);
    let ((member, from), transfers) = most.filter(|(_, transfers)| *transfers > 0)?;
    Some(match member == from {
        true => Remedy::PartElements { member, transfers },
        false => Remedy::Part {
            member,
            from,
            transfers,
        },
    })
}

/// What to look at where no layout helps, by how that member is used whose stores most transfers bring.
pub(super) fn shared(group: &Group, profile: &Profile) -> Option<Remedy> {
    let mut needed: BTreeMap<String, (u64, &Place)> = BTreeMap::new();
    for conflict in &group.conflicts {
        let news = news(conflict);
        let sum = needed.entry(own_name(news)).or_insert((0, news));
        sum.0 += needed_of(conflict);
    }
    let most = needed.into_iter().rev().max_by_key(|(_, (sum, _))| *sum);
    let (member, (_, place)) = most?;
    Some(Remedy::Shared {
        how: mix::how(group, profile, &member, place),
        member,
    })
}

/// What was stored by another and then needed: the other side, if that is in the same object.
fn news<'a>(conflict: &Conflict<'a>) -> &'a Place {
    match object(conflict.here) == object(conflict.there) {
        true => conflict.there,
        false => conflict.here,
    }
}

/// Transfers that bring what is used.
fn needed_of(conflict: &Conflict) -> u64 {
    match conflict.row.transfer {
        Transfer::Upgrade => 0,
        _ => conflict
            .row
            .count
            .saturating_sub(conflict.row.false_lifetime),
    }
}
