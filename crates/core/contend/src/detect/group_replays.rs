//! Replays of a group's objects; the bursts are indexed on first use.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use relayout_profile::{Addr, Profile, RunId};
use rustc_hash::FxHashSet;

use crate::group::{LineGroup, object_at};
use crate::identify::TargetObject;
use crate::replay::{CoherenceTally, ObjectTrace, TraceAccess};
use crate::traces::{ObjectExtent, TraceIndex};

/// Maximum number of objects to replay per group.
const OBJECTS_MAX: usize = 64;

/// Traces of objects that were logged in order.
pub(crate) struct GroupReplays<'p> {
    profile: &'p Profile,
    index: OnceCell<TraceIndex<'p>>,
}

impl<'p> GroupReplays<'p> {
    pub fn new(profile: &'p Profile) -> Self {
        Self {
            profile,
            index: OnceCell::new(),
        }
    }

    fn index(&self) -> &TraceIndex<'p> {
        self.index.get_or_init(|| TraceIndex::new(self.profile))
    }

    /// Returns all logged accesses to the bytes at `extent` in recorded order.
    pub fn accesses(&self, extent: ObjectExtent) -> Vec<TraceAccess> {
        self.index().logged_accesses(extent)
    }

    /// Replays the accesses to the bytes at `extent` in each of `ways`, of which the first is the
    /// recording as it is, and returns the transfers of each. `None` where it has none.
    pub fn transfers_at<const WAYS: usize>(
        &self,
        extent: ObjectExtent,
        ways: [&dyn Fn(&ObjectTrace) -> CoherenceTally; WAYS],
    ) -> Option<[u64; WAYS]> {
        let mut sums = [0u64; WAYS];
        for trace in self.index().traces(extent) {
            for (sum, way) in sums.iter_mut().zip(ways) {
                *sum = sum.saturating_add(way(&trace).transfers());
            }
        }
        sums.first().is_some_and(|today| *today > 0).then_some(sums)
    }

    /// Replays a part of a group in each of `ways`, of which the first is the recording as it is,
    /// and returns the transfers of each. `None` where nothing of the part was logged.
    pub fn transfers_by_way<const WAYS: usize>(
        &self,
        group: &LineGroup,
        part: ReplayedPart<'_>,
        ways: [&dyn Fn(&ObjectTrace) -> CoherenceTally; WAYS],
    ) -> Option<[u64; WAYS]> {
        let index = self.index();
        let extents: BTreeSet<ObjectExtent> = group
            .conflicts
            .iter()
            .filter_map(|conflict| Some((conflict.row.run, object_at(conflict.here)?)))
            .filter(|(_, object)| part.includes(object))
            .map(|(run, object)| ObjectExtent {
                run,
                base: object.base,
                bytes: u32::try_from(object.bytes).unwrap_or(u32::MAX),
            })
            .collect();
        let mut sums = [0u64; WAYS];
        let counts = part.access_filter(group);
        for extent in extents.into_iter().take(OBJECTS_MAX) {
            for mut trace in index.traces(extent) {
                let base = trace.base;
                let address = |access: &TraceAccess| base.wrapping_add(u64::from(access.offset));
                trace
                    .accesses
                    .retain(|access| counts(extent.run, address(access)));
                for (sum, way) in sums.iter_mut().zip(ways) {
                    *sum = sum.saturating_add(way(&trace).transfers());
                }
            }
        }
        sums.first().is_some_and(|today| *today > 0).then_some(sums)
    }
}

/// Part of a group to replay.
#[derive(Clone, Copy)]
pub(crate) enum ReplayedPart<'a> {
    /// Some of its objects, as a whole.
    Objects(&'a dyn Fn(&TargetObject) -> bool),
    /// The bytes on the group's lines, of all its objects.
    Lines,
}

impl ReplayedPart<'_> {
    fn includes(&self, object: &TargetObject) -> bool {
        match self {
            Self::Objects(wanted) => wanted(object),
            Self::Lines => true,
        }
    }

    /// Returns a filter of accesses by run and address.
    fn access_filter(self, group: &LineGroup) -> impl Fn(RunId, Addr) -> bool {
        let line_bytes = group.line_bytes.max(1);
        let rows = group.conflicts.iter().map(|conflict| conflict.row);
        let lines: FxHashSet<(RunId, u64)> =
            rows.map(|row| (row.run, row.addr / line_bytes)).collect();
        let whole_objects = matches!(self, Self::Objects(_));
        move |run, addr| whole_objects || lines.contains(&(run, addr / line_bytes))
    }
}

/// Returns a placement that puts the bytes selected by `moves_apart` on lines of their own, behind
/// the object's other accessed bytes.
pub(super) fn place_apart(
    trace: &ObjectTrace,
    line: u32,
    moves_apart: impl Fn(u32) -> bool,
) -> impl Fn(u32) -> u32 {
    let offsets = trace.accesses.iter().map(|access| access.offset);
    let end = offsets.max().unwrap_or(0);
    let behind = end.saturating_add(2 * line) / line * line;
    move |offset| match moves_apart(offset) {
        true => behind.saturating_add(offset),
        false => offset,
    }
}
