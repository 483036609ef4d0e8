//! A member that only contexts other than its writer read: its readers always wait for a line that
//! the writer has.
//!
//! Example: `cpu` of `optimistic_spin_node`. Each CPU stores its number into its own node, and
//! reads that of the node before it in the queue, whose owner has just stored to it. No layout of
//! the node removes that read. Passing the value in another way does, and so does not reading it.
//!
//! The detector looks at each object. One context, the owner, makes nearly all stores to the
//! member, and others make nearly all loads; "nearly all" is nine in ten. Objects must have
//! different owners: a clock that one context sets and all read is another matter. A load may also
//! miss because of a store by the owner beside the member, and a layout does remove that. So the
//! finding has this kind only if more than half of its transfers are loads of such members that
//! bring a store to the member itself (also one that changed nothing). Where there are fewer, they
//! are noted with the finding.

use std::collections::{BTreeMap, BTreeSet};

use relayout_profile::{AccessKind, Addr, CoherenceEvent, ContextId, RunId};
use rustc_hash::FxHashMap;

use super::DetectContext;
use crate::finding::{FindingKind, RemoteRead};
use crate::group::{LineGroup, object_at};
use crate::identify::AccessTarget;
use crate::remedy::Remedy;
use crate::replay::CoherenceTally;

/// Remote reads are noted if they are at least one in this many of the line's transfers.
const NOTED_PART: u64 = 20;

/// Member of an object: run, base, offset.
type ObjectMember = (RunId, Addr, u64);

/// Loads and stores of a member by context.
#[derive(Default)]
struct ContextUse {
    loads: BTreeMap<ContextId, u64>,
    stores: BTreeMap<ContextId, u64>,
}

pub(super) fn detect(
    group: &LineGroup,
    tally: &CoherenceTally,
    _: &DetectContext,
) -> Option<FindingKind> {
    let remote: u64 = count_remote_reads(group)
        .values()
        .map(|read| read.needed)
        .sum();
    super::is_majority(remote, tally.transfers()).then_some(FindingKind::RemoteRead)
}

/// Returns the members of a group that are read remotely, most transfers first.
pub(crate) fn notable_remote_reads(group: &LineGroup, tally: &CoherenceTally) -> Vec<RemoteRead> {
    let mut noted: Vec<RemoteRead> = count_remote_reads(group)
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

/// Advises to avoid these reads.
pub(super) fn remedies(group: &LineGroup, tally: &CoherenceTally) -> impl Iterator<Item = Remedy> {
    notable_remote_reads(group, tally)
        .into_iter()
        .map(|read| Remedy::DropRead {
            member: read.member,
            transfers: read.transfers,
            needed: read.needed,
        })
}

/// Read transfers by loads of a member that is read remotely.
#[derive(Default)]
struct RemoteReadCounts {
    transfers: u64,
    /// Those that bring a value stored to the member.
    needed: u64,
    owners: BTreeSet<ContextId>,
}

/// Counts remote reads by the member's name.
fn count_remote_reads<'a>(group: &LineGroup<'a>) -> BTreeMap<&'a str, RemoteReadCounts> {
    let uses = uses_by_member(group);
    let mut found: BTreeMap<&str, RemoteReadCounts> = BTreeMap::new();
    for conflict in &group.conflicts {
        let row = conflict.row;
        let Some((name, key)) = member_key(row.run, conflict.here) else {
            continue;
        };
        let owner = uses.get(&key).and_then(ContextUse::owner);
        if let Some(owner) = owner.filter(|&owner| owner != row.context)
            && row.transfer == CoherenceEvent::Read
        {
            let same_member = conflict.here == conflict.there;
            let reads = found.entry(name).or_default();
            reads.transfers += row.count;
            reads.needed += match same_member {
                true => row.count,
                false => row.count.saturating_sub(row.false_lifetime),
            };
            reads.owners.insert(owner);
        }
    }
    found.retain(|_, reads| reads.owners.len() > 1);
    found
}

fn uses_by_member(group: &LineGroup) -> FxHashMap<ObjectMember, ContextUse> {
    let mut uses: FxHashMap<ObjectMember, ContextUse> = FxHashMap::default();
    for count in &group.counts {
        let row = count.row;
        let Some((_, key)) = member_key(row.run, count.target) else {
            continue;
        };
        let member = uses.entry(key).or_default();
        if row.access != AccessKind::Write {
            *member.loads.entry(row.context).or_default() += row.count;
        }
        if row.access != AccessKind::Read {
            *member.stores.entry(row.context).or_default() += row.count;
        }
    }
    uses
}

impl ContextUse {
    /// Returns the context that makes nearly all stores, if others make nearly all loads.
    fn owner(&self) -> Option<ContextId> {
        let (&owner, &own_stores) = self.stores.iter().max_by_key(|(_, count)| **count)?;
        let own_loads = self.loads.get(&owner).copied().unwrap_or(0);
        let loads: u64 = self.loads.values().sum();
        let nearly_all = |part: u64, whole: u64| part.saturating_mul(10) >= whole.saturating_mul(9);
        let alone = nearly_all(own_stores, self.stores.values().sum());
        (alone && nearly_all(loads - own_loads, loads)).then_some(owner)
    }
}

fn member_key(run: RunId, place: &AccessTarget) -> Option<(&str, ObjectMember)> {
    match place {
        AccessTarget::Member { member, .. } if member.path.is_empty() => None,
        AccessTarget::Member { member, .. } => {
            Some((&member.path, (run, object_at(place)?.base, member.offset)))
        }
        AccessTarget::Scalar(object) => Some((
            object.variable.as_deref().unwrap_or_default(),
            (run, object.base, 0),
        )),
        AccessTarget::Unresolved(_) => None,
    }
}
