//! A member that only contexts other than its writer read: whoever reads it always waits for a line that
//! the writer has.
//!
//! Example: `cpu` of `optimistic_spin_node`. Each CPU stores its number into its own node, and reads
//! that of the node before it in the queue, whose owner has just stored to it. No layout of the node
//! removes that read; handing the value over otherwise, or not asking for it, does.
//!
//! Judged by object: one context makes nearly all stores to the member of an object (its owner), and
//! others make nearly all loads; "nearly" is nine in ten. Objects must have different owners: a clock
//! that one context sets and all read is another thing. Such a load may also miss for what the owner stores
//! beside the member, and that a layout does remove: so the finding is called so only if more than half of its
//! transfers are loads of such members that bring what was stored to the member itself (also where that changed
//! nothing); where it is fewer, they are noted.

use std::collections::{BTreeMap, BTreeSet};

use relayout_profile::{Access, Transfer};
use rustc_hash::FxHashMap;

use super::Context;
use crate::finding::{Kind, RemoteRead};
use crate::group::{Group, object};
use crate::identify::Place;
use crate::remedy::Remedy;
use crate::replay::Tally;

/// One in so many of a line's transfers is worth a note.
const NOTED_PART: u64 = 20;

/// A member of an object: run, base, offset.
type Key = (u16, u64, u64);

/// Loads and stores by context.
#[derive(Default)]
struct Use {
    loads: BTreeMap<u16, u64>,
    stores: BTreeMap<u16, u64>,
}

pub(super) fn detect(group: &Group, tally: &Tally, _: &Context) -> Option<Kind> {
    let remote: u64 = remote_reads(group).values().map(|read| read.needed).sum();
    super::most(remote, tally.transfers()).then_some(Kind::RemoteRead)
}

/// The members of a group that are read remotely, most transfers first.
pub(crate) fn noted(group: &Group, tally: &Tally) -> Vec<RemoteRead> {
    let mut noted: Vec<RemoteRead> = remote_reads(group)
        .into_iter()
        .filter(|(_, read)| read.transfers.saturating_mul(NOTED_PART) >= tally.transfers())
        .map(|(member, read)| RemoteRead {
            member: member.to_owned(),
            transfers: read.transfers,
            needed: read.needed,
        })
        .collect();
    noted.sort_by_key(|read| std::cmp::Reverse(read.transfers));
    noted
}

/// Not to read them.
pub(super) fn remedies(group: &Group, tally: &Tally) -> impl Iterator<Item = Remedy> {
    noted(group, tally)
        .into_iter()
        .map(|read| Remedy::DropRead {
            member: read.member,
            transfers: read.transfers,
            needed: read.needed,
        })
}

/// Read transfers by loads of a member that is read remotely.
#[derive(Default)]
struct Reads {
    transfers: u64,
    /// Those that bring what was stored to the member.
    needed: u64,
    owners: BTreeSet<u16>,
}

/// By the member's name.
fn remote_reads<'a>(group: &Group<'a>) -> BTreeMap<&'a str, Reads> {
    let uses = uses(group);
    let mut found: BTreeMap<&str, Reads> = BTreeMap::new();
    for conflict in &group.conflicts {
        let row = conflict.row;
        let Some((name, key)) = key(row.run, conflict.here) else {
            continue;
        };
        let owner = uses.get(&key).and_then(Use::owner);
        if let Some(owner) = owner.filter(|&owner| owner != row.context)
            && row.transfer == Transfer::Read
        {
            let stored = conflict.here == conflict.there;
            let reads = found.entry(name).or_default();
            reads.transfers += row.count;
            reads.needed += match stored {
                true => row.count,
                false => row.count.saturating_sub(row.false_lifetime),
            };
            reads.owners.insert(owner);
        }
    }
    found.retain(|_, reads| reads.owners.len() > 1);
    found
}

fn uses(group: &Group) -> FxHashMap<Key, Use> {
    let mut uses: FxHashMap<Key, Use> = FxHashMap::default();
    for count in &group.counts {
        let row = count.row;
        let Some((_, key)) = key(row.run, count.place) else {
            continue;
        };
        let member = uses.entry(key).or_default();
        if row.access != Access::Write {
            *member.loads.entry(row.context).or_default() += row.count;
        }
        if row.access != Access::Read {
            *member.stores.entry(row.context).or_default() += row.count;
        }
    }
    uses
}

impl Use {
    /// Who makes nearly all stores, if others make nearly all loads.
    fn owner(&self) -> Option<u16> {
        let (&owner, &own_stores) = self.stores.iter().max_by_key(|(_, count)| **count)?;
        let own_loads = self.loads.get(&owner).copied().unwrap_or(0);
        let loads: u64 = self.loads.values().sum();
        let nearly_all = |part: u64, whole: u64| part.saturating_mul(10) >= whole.saturating_mul(9);
        let alone = nearly_all(own_stores, self.stores.values().sum());
        (alone && nearly_all(loads - own_loads, loads)).then_some(owner)
    }
}

fn key(run: u16, place: &Place) -> Option<(&str, Key)> {
    match place {
        Place::Member { member, .. } if member.path.is_empty() => None,
        Place::Member { member, .. } => {
            Some((&member.path, (run, object(place)?.base, member.offset)))
        }
        Place::Scalar(object) => Some((
            object.variable.as_deref().unwrap_or_default(),
            (run, object.base, 0),
        )),
        Place::Unresolved(_) => None,
    }
}
