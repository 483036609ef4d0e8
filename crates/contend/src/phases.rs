//! Lines that are one thing to a reader.
//!
//! The elements of an array of 40 bytes begin at eight places in a line, and what happens to one member happens on
//! eight different lines of the type; the counters of a long array lie on many lines. So groups of one subject and
//! kind are joined if the same member has most of their transfers. Else a member lies on one line, unless it
//! crosses into the next.

use std::collections::BTreeMap;

use relayout_profile::ConflictRow;
use rustc_hash::FxHashSet;

use crate::detect::{self, Context};
use crate::finding::{Kind, LinePlace, Subject};
use crate::group::{self, Group, object};
use crate::identify::Place;
use crate::replay::Tally;

/// What is told in one finding.
pub(crate) struct Joined<'a> {
    /// Its `line_offset` is that of the first of `places`.
    pub group: Group<'a>,
    pub kind: Kind,
    pub tally: Tally,
    /// Most transfers first.
    pub places: Vec<LinePlace>,
}

/// What groups that are joined have in common.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Common<'a> {
    subject: Subject,
    kind: Kind,
    /// Path of the member with most transfers; elements of an array have one path.
    member: &'a str,
}

/// Names the groups, and joins those that have that in common. In order of what they have in common.
pub(crate) fn join<'a>(groups: Vec<Group<'a>>, context: &Context) -> Vec<Joined<'a>> {
    let mut alone = Vec::new();
    let mut joined: BTreeMap<Common, Joined> = BTreeMap::new();
    for group in groups {
        let one = named(group, context);
        let Some(member) = hottest(&one.group) else {
            alone.push(one);
            continue;
        };
        let common = Common {
            subject: one.group.subject.clone(),
            kind: one.kind,
            member,
        };
        match joined.entry(common) {
            std::collections::btree_map::Entry::Vacant(entry) => {
                entry.insert(one);
            }
            std::collections::btree_map::Entry::Occupied(mut entry) => entry.get_mut().add(one),
        }
    }
    alone.extend(joined.into_values());
    alone.iter_mut().for_each(Joined::put_in_order);
    alone
}

fn named<'a>(group: Group<'a>, context: &Context) -> Joined<'a> {
    let rows = group.conflicts.iter().map(|conflict| conflict.row);
    let tally: Tally = rows.map(group::tally).sum();
    let place = LinePlace {
        line_offset: group.line_offset,
        transfers: tally.transfers(),
        objects: objects(&group),
    };
    Joined {
        kind: detect::kind(&group, &tally, context),
        tally,
        places: vec![place],
        group,
    }
}

impl<'a> Joined<'a> {
    fn add(&mut self, other: Joined<'a>) {
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
pub(crate) fn objects(group: &Group) -> u64 {
    let objects: FxHashSet<_> = group
        .conflicts
        .iter()
        .filter_map(|conflict| Some((conflict.row.run, object(conflict.here)?.base)))
        .collect();
    objects.len() as u64
}

/// The member with most transfers; the first of equals. A line of scalars has its name from it already.
fn hottest<'a>(group: &Group<'a>) -> Option<&'a str> {
    let mut transfers: BTreeMap<&str, u64> = BTreeMap::new();
    for conflict in &group.conflicts {
        if let Place::Member { member, .. } = conflict.here {
            let sum = transfers.entry(&member.path).or_default();
            *sum = sum.saturating_add(missed(conflict.row));
        }
    }
    let most = transfers.into_iter().rev().max_by_key(|(_, sum)| *sum);
    most.map(|(path, _)| path)
}

fn missed(row: &ConflictRow) -> u64 {
    group::tally(row).transfers()
}
