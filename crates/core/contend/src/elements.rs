//! Elements of an array on shared lines.
//!
//! Example: `static struct worker w[4]` with 24 bytes for each thread. Three elements lie on one
//! line, and each thread takes it from the others, though no thread uses what another stored.
//! Another order of the members changes nothing; larger elements do.

use std::collections::BTreeMap;

use relayout_profile::{Addr, ContextId, RunId};

use crate::finding::{ElementUsers, SharedElements};
use crate::group::{self, LineGroup, ResolvedConflict, object_at};
use crate::identify::{AccessTarget, ElementArray};
use crate::replay::CoherenceTally;

/// A context uses an element if it has at least one in this many of the element's accesses: the
/// thread that sets up an array is no user of its elements.
const USER_PART: u64 = 20;

/// Accesses to each element of an array by context.
type ElementAccesses = BTreeMap<u64, BTreeMap<ContextId, u64>>;

/// Returns the array that holds `addr`, and the index of the element.
fn element_at(target: &AccessTarget, addr: Addr) -> Option<(ElementArray, u64)> {
    let array = object_at(target)?.array?;
    Some((array, array.index_of(addr)?))
}

/// Returns true if both sides of a conflict are in one array, in different elements.
fn is_between_elements(conflict: &ResolvedConflict) -> bool {
    let here = element_at(conflict.here, conflict.row.addr);
    let there = element_at(conflict.there, conflict.row.other_addr);
    match (here, there) {
        (Some((array, index)), Some((other_array, other_index))) => {
            array == other_array && index != other_index
        }
        _ => false,
    }
}

/// Returns the transfers between elements of one array that are false by lifetime.
fn false_between_elements(group: &LineGroup) -> u64 {
    let between = { group.conflicts.iter() }.filter(|conflict| is_between_elements(conflict));
    between.fold(0, |sum, conflict| {
        sum.saturating_add(conflict.row.false_lifetime)
    })
}

/// Returns true if most of the transfers, `tally`, are false and between elements of one array.
pub(crate) fn are_shared(group: &LineGroup, tally: &CoherenceTally) -> bool {
    false_between_elements(group) > tally.transfers() / 2
}

/// Returns the elements, if most of the transfers, `tally`, are false and between them.
pub(crate) fn shared_elements(group: &LineGroup, tally: &CoherenceTally) -> Option<SharedElements> {
    let transfers = false_between_elements(group);
    if transfers <= tally.transfers() / 2 {
        return None;
    }
    let (run, array) = hottest_array(group)?;
    let mut accesses = ElementAccesses::default();
    let mut add = |target, row_run, addr, context, count| {
        if let Some((_, index)) =
            element_at(target, addr).filter(|(other, _)| *other == array && row_run == run)
        {
            *accesses
                .entry(index)
                .or_default()
                .entry(context)
                .or_default() += count;
        }
    };
    for count in &group.counts {
        let row = count.row;
        add(count.target, row.run, row.addr, row.context, row.count);
    }
    for conflict in &group.conflicts {
        let row = conflict.row;
        add(conflict.here, row.run, row.addr, row.context, row.count);
    }
    Some(SharedElements {
        stride: array.stride,
        count: array.count,
        transfers,
        users: { accesses.into_iter() }
            .map(|(index, contexts)| ElementUsers {
                index,
                contexts: most_frequent_contexts(contexts),
            })
            .collect(),
    })
}

/// Returns the array with the most transfers.
fn hottest_array(group: &LineGroup) -> Option<(RunId, ElementArray)> {
    let mut transfers: BTreeMap<(RunId, ElementArray), u64> = BTreeMap::new();
    for conflict in &group.conflicts {
        if let Some((array, _)) = element_at(conflict.here, conflict.row.addr) {
            let sum = transfers.entry((conflict.row.run, array)).or_default();
            *sum += group::row_tally(conflict.row).transfers();
        }
    }
    let most = transfers.into_iter().rev().max_by_key(|(_, sum)| *sum)?;
    Some(most.0)
}

fn most_frequent_contexts(accesses: BTreeMap<ContextId, u64>) -> Vec<ContextId> {
    let total: u64 = accesses.values().sum();
    let mut ranked: Vec<(ContextId, u64)> = accesses
        .into_iter()
        .filter(|(_, count)| count.saturating_mul(USER_PART) >= total)
        .collect();
    ranked.sort_by_key(|(context, count)| (std::cmp::Reverse(*count), *context));
    ranked.into_iter().map(|(context, _)| context).collect()
}
