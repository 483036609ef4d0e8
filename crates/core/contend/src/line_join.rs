//! Lines that are one thing to a reader.
//!
//! The elements of an array of 40 bytes begin at eight places in a line, and what happens to one member happens on
//! eight different lines of the type; the counters of a long array lie on many lines. So groups of one subject and
//! kind are joined if the same member has most of their transfers. Else a member lies on one line, unless it
//! crosses into the next.

use std::collections::BTreeMap;

use relayout_profile::ConflictRow;
use rustc_hash::FxHashSet;

use crate::detect::{self, DetectContext};
use crate::finding::{FindingKind, FindingSubject, LinePlace};
use crate::group::{self, LineGroup, object_at};
use crate::identify::AccessTarget;
use crate::replay::CoherenceTally;

/// What is told in one finding.
pub(crate) struct JoinedGroup<'a> {
    /// Its `line_offset` is that of the first of `places`.
    pub group: LineGroup<'a>,
    pub kind: FindingKind,
    pub tally: CoherenceTally,
    /// Most transfers first.
    pub places: Vec<LinePlace>,
}

/// What groups that are joined have in common.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct JoinKey<'a> {
    subject: FindingSubject,
    kind: FindingKind,
    /// Path of the member with most transfers; elements of an array have one path.
    member: &'a str,
}

/// Names the groups, and joins those that have that in common. In order of what they have in common.
pub(crate) fn join_groups<'a>(
    groups: Vec<LineGroup<'a>>,
    context: &DetectContext,
) -> Vec<JoinedGroup<'a>> {
    let mut alone = Vec::new();
    let mut joined: BTreeMap<JoinKey, JoinedGroup> = BTreeMap::new();
    for group in groups {
        let named_group = name_group(group, context);
        let Some(member) = hottest_member(&named_group.group) else {
            alone.push(named_group);
            continue;
        };
        let join_key = JoinKey {
            subject: named_group.group.subject.clone(),
            kind: named_group.kind,
            member,
        };
        match joined.entry(join_key) {
            std::collections::btree_map::Entry::Vacant(entry) => {
                entry.insert(named_group);
            }
            std::collections::btree_map::Entry::Occupied(mut entry) => {
                entry.get_mut().add(named_group)
            }
        }
    }
    alone.extend(joined.into_values());
    alone.iter_mut().for_each(JoinedGroup::put_in_order);
    alone
}

fn name_group<'a>(group: LineGroup<'a>, context: &DetectContext) -> JoinedGroup<'a> {
    let rows = group.conflicts.iter().map(|conflict| conflict.row);
    let tally: CoherenceTally = rows.map(group::row_tally).sum();
    let place = LinePlace {
        line_offset: group.line_offset,
        transfers: tally.transfers(),
        objects: object_count(&group),
    };
    JoinedGroup {
        kind: detect::classify(&group, &tally, context),
        tally,
        places: vec![place],
        group,
    }
}

impl<'a> JoinedGroup<'a> {
    fn add(&mut self, other: JoinedGroup<'a>) {
        self.group.conflicts.extend(other.group.conflicts);
        self.group.counts.extend(other.group.counts);
        self.tally += other.tally;
        self.places.extend(other.places);
    }

    fn put_in_order(&mut self) {
        self.places
            .sort_by_key(|place| (std::cmp::Reverse(place.transfers), place.line_offset));
        if let Some(first) = self.places.first() {
            self.group.line_offset = first.line_offset;
        }
    }
}

/// Distinct objects with events.
pub(crate) fn object_count(group: &LineGroup) -> u64 {
    let objects: FxHashSet<_> = group
        .conflicts
        .iter()
        .filter_map(|conflict| Some((conflict.row.run, object_at(conflict.here)?.base)))
        .collect();
    objects.len() as u64
}

/// The member with most transfers; the first of equals. A line of scalars has its name from it already.
fn hottest_member<'a>(group: &LineGroup<'a>) -> Option<&'a str> {
    let mut transfers: BTreeMap<&str, u64> = BTreeMap::new();
    for conflict in &group.conflicts {
        if let AccessTarget::Member { member, .. } = conflict.here {
            let sum = transfers.entry(&member.path).or_default();
            *sum = sum.saturating_add(missed_transfers(conflict.row));
        }
    }
    let most = transfers.into_iter().rev().max_by_key(|(_, sum)| *sum);
    most.map(|(path, _)| path)
}

fn missed_transfers(row: &ConflictRow) -> u64 {
    group::row_tally(row).transfers()
}
