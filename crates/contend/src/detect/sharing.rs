//! False or true sharing.
//!
//! Decided by lifetime, since that is what another placement could save: a CPU that reads
//! `base_addr` and then, under the lock, writes `free_bytes` needs the line anyway, though its
//! first touch was false.

use std::collections::{BTreeMap, BTreeSet};

use relayout_profile::Access;

use super::lock_word::lock_of;
use crate::find::{other_name, own_name};
use crate::finding::Kind;
use crate::group::{self, Group};
use crate::identify::Place;
use crate::remedy::{Remedy, Shared};
use crate::replay::Tally;

pub(super) fn kind(tally: &Tally) -> Kind {
    if super::most(tally.false_lifetime, tally.transfers()) {
        Kind::FalseSharing
    } else {
        Kind::TrueSharing
    }
}

/// What to part from what: the two whose conflicts are false most often.
pub(super) fn part(group: &Group) -> Option<Remedy> {
    let mut pairs: BTreeMap<(String, String), u64> = BTreeMap::new();
    for conflict in &group.conflicts {
        let names = (
            own_name(conflict.here),
            other_name(conflict.here, conflict.there),
        );
        *pairs.entry(names).or_default() += conflict.row.false_lifetime;
    }
    let most = pairs
        .into_iter()
        .rev()
        .max_by_key(|(_, transfers)| *transfers);
    let ((member, from), transfers) = most.filter(|((a, b), _)| a != b)?;
    Some(Remedy::Part {
        member,
        from,
        transfers,
    })
}

/// What to look at where no layout helps, by how the member with most transfers is used.
pub(super) fn shared(group: &Group) -> Option<Remedy> {
    let mut transfers: BTreeMap<String, (u64, &Place)> = BTreeMap::new();
    for conflict in &group.conflicts {
        let sum = transfers
            .entry(own_name(conflict.here))
            .or_insert((0, conflict.here));
        sum.0 += group::tally(conflict.row).transfers();
    }
    let (member, (_, place)) = transfers
        .into_iter()
        .rev()
        .max_by_key(|(_, (sum, _))| *sum)?;
    let is_lock = matches!(place, Place::Member { member, .. } if lock_of(member).is_some());
    Some(Remedy::Shared {
        how: if is_lock {
            Shared::Lock
        } else {
            how(group, &member)
        },
        member,
    })
}

fn how(group: &Group, member: &str) -> Shared {
    let (mut loads, mut stores) = (0_u64, BTreeMap::<u16, u64>::new());
    let mut readers = BTreeSet::new();
    for count in group
        .counts
        .iter()
        .filter(|count| own_name(count.place) == member)
    {
        match count.row.access {
            Access::Read => {
                loads = loads.saturating_add(count.row.count);
                readers.insert(count.row.context);
            }
            _ => *stores.entry(count.row.context).or_default() += count.row.count,
        }
    }
    let all = stores
        .values()
        .fold(0_u64, |sum, count| sum.saturating_add(*count));
    let most = stores.values().copied().max().unwrap_or(0);
    // Nine in ten stores by one is one writer.
    match most.saturating_mul(10) >= all.saturating_mul(9) {
        true if readers.len() > 1 || loads > all => Shared::Copy,
        // An addition loads by itself; plain loads beside it are somebody who wants to know.
        false if loads <= all => Shared::PerContext,
        _ => Shared::Batch,
    }
}
