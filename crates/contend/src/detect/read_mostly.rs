//! A member that is hardly ever written, beside what is written all the time: its readers lose it to
//! stores that do not concern them.
//!
//! Example: a pointer that is set up once and followed by every CPU, on the line of a counter. Kept apart
//! from the general false sharing because the remedy is: move it to where nothing is written (for a
//! variable `__read_mostly`).
//!
//! All must hold for more than half of the transfers: a load missed; it is false by lifetime, so that
//! the reader went on to use nothing that was written (`base_addr` of `pcpu_chunk` on Linux 6.1 is read
//! mostly too, but its readers go on to write the line: moving it saves nothing); and the member it
//! loaded was read by several contexts, of which more than one lose it, and stored to at most once in
//! [`LOADS_PER_STORE`] loads.

use std::collections::BTreeSet;

use relayout_profile::Access;
use rustc_hash::FxHashMap;

use super::Context;
use crate::finding::Kind;
use crate::group::Group;
use crate::identify::Place;
use crate::remedy::Remedy;
use crate::replay::Tally;

/// Loads for each store, at least: of what is stored to more often, readers lose a part of the line's
/// news anyway.
const LOADS_PER_STORE: u64 = 64;

/// Of the loads that lose the line, at least one in so many is another context's than the one with most:
/// where one context alone reads, two contexts share the line falsely, and either may move.
const OTHERS_PART: u64 = 10;

/// How a member was used, over all objects.
#[derive(Default)]
struct Use {
    loads: u64,
    stores: u64,
    readers: BTreeSet<u16>,
}

pub(super) fn detect(group: &Group, tally: &Tally, _: &Context) -> Option<Kind> {
    let uses = uses(group);
    let read_mostly = |place: &Place| {
        name(place)
            .and_then(|name| uses.get(name))
            .is_some_and(Use::is_read_mostly)
    };
    let mut saved: FxHashMap<u16, u64> = FxHashMap::default();
    for conflict in &group.conflicts {
        if conflict.row.access == Access::Read && read_mostly(conflict.here) {
            *saved.entry(conflict.row.context).or_default() += conflict.row.false_lifetime;
        }
    }
    let all: u64 = saved.values().sum();
    let by_one = saved.values().copied().max().unwrap_or(0);
    let several = all - by_one >= all / OTHERS_PART;
    (several && super::most(all, tally.transfers())).then_some(Kind::ReadMostly)
}

/// What is known by this name on the line; holes and unknown objects are not.
fn name(place: &Place) -> Option<&str> {
    match place {
        Place::Member { member, .. } => Some(member.path.as_str()).filter(|path| !path.is_empty()),
        Place::Scalar(object) => object.variable.as_deref(),
        Place::Unresolved(_) => None,
    }
}

impl Use {
    fn is_read_mostly(&self) -> bool {
        let few = self.stores.saturating_mul(LOADS_PER_STORE) <= self.loads;
        self.readers.len() > 1 && self.loads > 0 && few
    }
}

fn uses<'a>(group: &Group<'a>) -> FxHashMap<&'a str, Use> {
    let mut uses: FxHashMap<&str, Use> = FxHashMap::default();
    for count in &group.counts {
        let Some(name) = name(count.place) else {
            continue;
        };
        let member = uses.entry(name).or_default();
        if count.row.access != Access::Write {
            member.loads += count.row.count;
            member.readers.insert(count.row.context);
        }
        if count.row.access != Access::Read {
            member.stores += count.row.count;
        }
    }
    uses
}

/// Whether the member or variable of that name is hardly ever stored to.
pub(super) fn is_read_mostly(group: &Group, name: &str) -> bool {
    uses(group).get(name).is_some_and(Use::is_read_mostly)
}

/// The read-mostly member with most loads.
pub(super) fn remedy(group: &Group) -> Option<Remedy> {
    let uses = uses(group)
        .into_iter()
        .filter(|(_, member)| member.is_read_mostly());
    let (name, most) =
        uses.max_by_key(|(name, member)| (member.loads, std::cmp::Reverse(*name)))?;
    Some(Remedy::Gather {
        member: name.to_owned(),
        loads: most.loads,
        stores: most.stores,
    })
}
