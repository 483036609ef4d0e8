//! Elements of an array on shared lines.
//!
//! Example: `static struct worker w[4]` with 24 bytes for each thread. Three elements lie on one
//! line, and each thread takes it from the others, though no thread uses what another stored.
//! Another order of the members changes nothing; larger elements do. The array may also be a
//! member: `struct pool { long done[4]; }`.

use std::collections::BTreeMap;

use relayout_profile::{AccessKind, Addr, RunId};

use crate::detect::GroupReplays;
use crate::element_runs::ElementUses;
use crate::finding::{ElementUsers, SharedElements};
use crate::group::{LineGroup, ResolvedConflict, object_at};
use crate::identify::{AccessTarget, ElementArray};
use crate::replay::CoherenceTally;
use crate::traces::ObjectExtent;

/// Array in the memory of a recording.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RecordedArray {
    pub run: RunId,
    pub array: ElementArray,
    /// Path of the array, where it is a member of an object; `None` where its elements are objects.
    pub member: Option<String>,
}

impl RecordedArray {
    /// Returns the bytes of the array.
    pub fn extent(&self) -> ObjectExtent {
        let bytes = self.array.stride.saturating_mul(self.array.count);
        ObjectExtent {
            run: self.run,
            base: self.array.base,
            bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
        }
    }
}

/// Returns the arrays that hold the bytes at a target, the outermost first.
fn arrays_at(run: RunId, target: &AccessTarget) -> Vec<RecordedArray> {
    let Some(object) = object_at(target) else {
        return Vec::new();
    };
    let mut arrays: Vec<RecordedArray> = { object.array.into_iter() }
        .map(|array| RecordedArray {
            run,
            array,
            member: None,
        })
        .collect();
    let AccessTarget::Member { member, .. } = target else {
        return arrays;
    };
    let mut path_bytes = 0;
    for element in &member.elements {
        let Some(bracket) = member.path[path_bytes..].find("[]") else {
            break;
        };
        let name = &member.path[..path_bytes + bracket];
        path_bytes += bracket + "[]".len();
        let bytes_left = object.bytes.saturating_sub(element.array_offset);
        let count = match element.count {
            0 => bytes_left.checked_div(element.stride).unwrap_or(0),
            count => count,
        };
        let array = ElementArray {
            base: object.base.saturating_add(element.array_offset),
            stride: element.stride,
            count,
        };
        // The object may be the array itself.
        if !arrays.iter().any(|outer| outer.array == array) {
            arrays.push(RecordedArray {
                run,
                array,
                member: Some(name.to_owned()),
            });
        }
    }
    arrays
}

/// Returns the array of which both sides of a conflict are different elements.
fn array_between(conflict: &ResolvedConflict) -> Option<RecordedArray> {
    let row = conflict.row;
    let there = arrays_at(row.run, conflict.there);
    arrays_at(row.run, conflict.here).into_iter().find(|here| {
        let index = here.array.index_of(row.addr);
        let other_index = here.array.index_of(row.other_addr);
        there.contains(here) && index.is_some() && other_index.is_some() && index != other_index
    })
}

/// Transfers that are false by lifetime, by the array of which both sides are elements.
fn false_by_array(group: &LineGroup) -> BTreeMap<RecordedArray, u64> {
    let mut transfers: BTreeMap<RecordedArray, u64> = BTreeMap::new();
    for conflict in &group.conflicts {
        let false_lifetime = conflict.row.false_lifetime;
        if let Some(array) = array_between(conflict).filter(|_| false_lifetime > 0) {
            let sum = transfers.entry(array).or_default();
            *sum = sum.saturating_add(false_lifetime);
        }
    }
    transfers
}

/// Returns the sum of the transfers, if it is most of those of the group, `tally`.
fn majority(transfers: &BTreeMap<RecordedArray, u64>, tally: &CoherenceTally) -> Option<u64> {
    let sum = { transfers.values() }.fold(0, |sum: u64, count| sum.saturating_add(*count));
    (sum > tally.transfers() / 2).then_some(sum)
}

fn array_with_most(transfers: &BTreeMap<RecordedArray, u64>) -> Option<&RecordedArray> {
    let most = transfers.iter().rev().max_by_key(|(_, sum)| **sum)?;
    Some(most.0)
}

/// Returns the array with most of the transfers, if most of those of the group, `tally`, are false
/// and between elements of arrays.
pub(crate) fn shared_array(group: &LineGroup, tally: &CoherenceTally) -> Option<RecordedArray> {
    let transfers = false_by_array(group);
    majority(&transfers, tally)?;
    array_with_most(&transfers).cloned()
}

/// Returns the elements, if most of the transfers, `tally`, are false and between them.
pub(crate) fn shared_elements(
    group: &LineGroup,
    tally: &CoherenceTally,
    replays: &GroupReplays<'_>,
) -> Option<SharedElements> {
    let transfers = false_by_array(group);
    let sum = majority(&transfers, tally)?;
    let recorded = array_with_most(&transfers)?;
    let array = recorded.array;
    let uses = element_uses(group, recorded, replays);
    Some(SharedElements {
        stride: array.stride,
        count: array.count,
        transfers: sum,
        users: { uses.users().into_iter() }
            .map(|(index, contexts)| ElementUsers { index, contexts })
            .collect(),
        runs: uses.runs(),
        member: recorded.member.clone(),
    })
}

/// Returns the uses of the elements: counted on the group's lines, and logged in order around them.
fn element_uses(
    group: &LineGroup,
    recorded: &RecordedArray,
    replays: &GroupReplays<'_>,
) -> ElementUses {
    let stride = u32::try_from(recorded.array.stride).unwrap_or(u32::MAX);
    let logged = replays.accesses(recorded.extent());
    let mut uses = ElementUses::from_accesses(&logged, stride);
    let index_of = |run: RunId, addr: Addr| {
        let index = recorded.array.index_of(addr);
        index.filter(|_| run == recorded.run)
    };
    for count in &group.counts {
        let row = count.row;
        if let Some(index) = index_of(row.run, row.addr) {
            let is_store = row.access != AccessKind::Read;
            uses.add_count(index, row.context, is_store, row.count);
        }
    }
    for conflict in &group.conflicts {
        let row = conflict.row;
        if let Some(index) = index_of(row.run, row.addr) {
            let is_store = row.access != AccessKind::Read;
            uses.add_count(index, row.context, is_store, row.count);
        }
    }
    uses
}
