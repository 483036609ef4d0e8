//! Joins lines that a reader sees as one.
//!
//! The elements of an array of 40 bytes begin at eight places in a line, so that events on one
//! member fall on eight different lines of the type. The counters of a long array lie on many
//! lines. So groups of one subject and kind are joined if the same member has most of their
//! transfers. Any other member lies on one line, unless it crosses into the next.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use crate::detect::{self, DetectContext};
use crate::elements;
use crate::finding::{FindingKind, FindingSubject, LinePlace};
use crate::group::{self, LineGroup, object_at};
use crate::identify::AccessTarget;
use crate::names::most_by_name;
use crate::replay::CoherenceTally;

/// Groups that become one finding.
pub(crate) struct JoinedGroup<'a> {
    /// The joined rows. The `line_offset` is that of the first of `places`.
    pub group: LineGroup<'a>,
    pub kind: FindingKind,
    pub tally: CoherenceTally,
    /// Most transfers first.
    pub places: Vec<LinePlace>,
}

/// Common properties of joined groups.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct JoinKey {
    subject: FindingSubject,
    kind: FindingKind,
    /// Path of the member with the most transfers; elements of an array have one path. Where
    /// elements share lines, the path of the array, whatever member they are hit in.
    member: String,
}

/// Names the groups, and joins those with the same key. The result is in the order of the keys.
pub(crate) fn join_groups<'a>(
    groups: Vec<LineGroup<'a>>,
    context: &DetectContext,
) -> Vec<JoinedGroup<'a>> {
    let mut alone = Vec::new();
    let mut joined: BTreeMap<JoinKey, JoinedGroup> = BTreeMap::new();
    for group in groups {
        let named_group = name_group(group, context);
        // Any member of an element may be hit.
        let shared = elements::shared_array(&named_group.group, &named_group.tally);
        let member = match shared {
            Some(shared) => Some(shared.member.unwrap_or_default()),
            None => hottest_member(&named_group.group).map(str::to_owned),
        };
        let Some(member) = member else {
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
        self.group.waits.extend(other.group.waits);
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

/// Returns the number of distinct objects with events.
pub(crate) fn object_count(group: &LineGroup) -> u64 {
    let objects: FxHashSet<_> = group
        .conflicts
        .iter()
        .filter_map(|conflict| Some((conflict.row.run, object_at(conflict.here)?.base)))
        .collect();
    objects.len() as u64
}

/// Returns the member with the most transfers; the first of equals. `None` for a line of scalars,
/// which has its name from it already.
fn hottest_member<'a>(group: &LineGroup<'a>) -> Option<&'a str> {
    let conflicts = group.conflicts.iter();
    let transfers = conflicts.filter_map(|conflict| match conflict.here {
        AccessTarget::Member { member, .. } => {
            let count = group::row_tally(conflict.row).transfers();
            Some((member.path.as_str(), count))
        }
        _ => None,
    });
    most_by_name(transfers).map(|(path, _)| path)
}
