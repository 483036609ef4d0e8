//! Replays of a group's objects; the bursts are indexed when first needed.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use relayout_profile::Profile;
use rustc_hash::FxHashSet;

use crate::group::{Group, object};
use crate::identify::Object;
use crate::replay::{ObjectTrace, Tally, TraceAccess};
use crate::traces::{Extent, TraceIndex};

/// Objects replayed per group, at most.
const OBJECTS_MAX: usize = 64;

/// What was logged in order, by object.
pub(crate) struct Replays<'p> {
    profile: &'p Profile,
    index: OnceCell<TraceIndex<'p>>,
}

impl<'p> Replays<'p> {
    pub fn new(profile: &'p Profile) -> Self {
        Self {
            profile,
            index: OnceCell::new(),
        }
    }

    /// Transfers of a part of a group in each of `ways` to replay a trace, of which the first is as it is; `None`
    /// where nothing of it was logged.
    pub fn of<const WAYS: usize>(
        &self,
        group: &Group,
        part: Part<'_>,
        ways: [&dyn Fn(&ObjectTrace) -> Tally; WAYS],
    ) -> Option<[u64; WAYS]> {
        let index = self.index.get_or_init(|| TraceIndex::new(self.profile));
        let extents: BTreeSet<Extent> = group
            .conflicts
            .iter()
            .filter_map(|conflict| Some((conflict.row.run, object(conflict.here)?)))
            .filter(|(_, object)| part.has(object))
            .map(|(run, object)| Extent {
                run,
                base: object.base,
                bytes: u32::try_from(object.bytes).unwrap_or(u32::MAX),
            })
            .collect();
        let mut sums = [0u64; WAYS];
        let counts = part.filter(group);
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

/// What of a group is replayed.
#[derive(Clone, Copy)]
pub(crate) enum Part<'a> {
    /// Some of its objects, whole.
    Objects(&'a dyn Fn(&Object) -> bool),
    /// What lies on the group's lines, of all its objects.
    Lines,
}

impl Part<'_> {
    fn has(&self, object: &Object) -> bool {
        match self {
            Self::Objects(wanted) => wanted(object),
            Self::Lines => true,
        }
    }

    /// Which accesses of a run count, by address.
    fn filter(self, group: &Group) -> impl Fn(u16, u64) -> bool {
        let line_bytes = group.line_bytes.max(1);
        let rows = group.conflicts.iter().map(|conflict| conflict.row);
        let lines: FxHashSet<(u16, u64)> =
            rows.map(|row| (row.run, row.addr / line_bytes)).collect();
        let all = matches!(self, Self::Objects(_));
        move |run, addr| all || lines.contains(&(run, addr / line_bytes))
    }
}

/// Puts the bytes that `leaves` says on lines of their own behind the object's other accessed bytes.
pub(super) fn apart(
    trace: &ObjectTrace,
    line: u32,
    leaves: impl Fn(u32) -> bool,
) -> impl Fn(u32) -> u32 {
    let offsets = trace.accesses.iter().map(|access| access.offset);
    let end = offsets.max().unwrap_or(0);
    let behind = end.saturating_add(2 * line) / line * line;
    move |offset| match leaves(offset) {
        true => behind.saturating_add(offset),
        false => offset,
    }
}
