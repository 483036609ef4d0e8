//! Replays of a group's objects; the bursts are indexed when first needed.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use relayout_profile::Profile;

use crate::group::{Group, object};
use crate::identify::Object;
use crate::remedy::Replayed;
use crate::replay::{ObjectTrace, Tally};
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

    /// Transfers of the `wanted` objects of a group, as they are and as `changed` says of each trace; `None`
    /// where nothing of them was logged.
    pub fn of(
        &self,
        group: &Group,
        wanted: impl Fn(&Object) -> bool,
        today: impl Fn(&ObjectTrace) -> Tally,
        changed: impl Fn(&ObjectTrace) -> Tally,
    ) -> Option<Replayed> {
        let index = self.index.get_or_init(|| TraceIndex::new(self.profile));
        let extents: BTreeSet<Extent> = group
            .conflicts
            .iter()
            .filter_map(|conflict| Some((conflict.row.run, object(conflict.here)?)))
            .filter(|(_, object)| wanted(object))
            .map(|(run, object)| Extent {
                run,
                base: object.base,
                bytes: u32::try_from(object.bytes).unwrap_or(u32::MAX),
            })
            .collect();
        let mut sum = Replayed::default();
        for trace in extents
            .into_iter()
            .take(OBJECTS_MAX)
            .flat_map(|extent| index.traces(extent))
        {
            sum.today = sum.today.saturating_add(today(&trace).transfers());
            sum.changed = sum.changed.saturating_add(changed(&trace).transfers());
        }
        (sum.today > 0).then_some(sum)
    }
}
