//! A member that is hardly ever stored to, beside members that are stored to all the time: its
//! readers lose the line to stores that do not concern them.
//!
//! Example: a pointer that is set up once and followed by every CPU, on the line of a counter. It
//! is apart from general false sharing because the remedy differs: move the member to where nothing
//! is stored to (for a variable `__read_mostly`).
//!
//! All of this must hold for more than half of the transfers:
//!
//! - A load missed.
//! - It is false by lifetime, so that the reader went on to use nothing that was stored.
//!   `base_addr` of `pcpu_chunk` on Linux 6.1 is read mostly too, but its readers go on to store to
//!   the line, so that moving it saves nothing.
//! - Several contexts load the member, and more than one of them lose the line.
//! - The member is stored to at most once in [`LOADS_PER_STORE`] loads.

use std::collections::BTreeSet;

use relayout_profile::{AccessKind, ContextId};
use rustc_hash::FxHashMap;

use super::DetectContext;
use crate::finding::FindingKind;
use crate::group::LineGroup;
use crate::identify::AccessTarget;
use crate::remedy::Remedy;
use crate::replay::CoherenceTally;

/// Minimum number of loads per store. With more stores, readers of the member lose a part of the
/// line's news anyway.
const LOADS_PER_STORE: u64 = 64;

/// Of the loads that lose the line, at least one in this many is by another context than the one
/// with most. Where one context alone reads, two contexts share the line falsely, and either member
/// may move.
const OTHERS_PART: u64 = 10;

/// Uses of a member, over all objects.
#[derive(Default)]
struct MemberUse {
    loads: u64,
    stores: u64,
    readers: BTreeSet<ContextId>,
}

pub(super) fn detect(
    group: &LineGroup,
    tally: &CoherenceTally,
    _: &DetectContext,
) -> Option<FindingKind> {
    let uses = member_uses(group);
    let read_mostly = |place: &AccessTarget| {
        name_of_target(place)
            .and_then(|name| uses.get(name))
            .is_some_and(MemberUse::is_read_mostly)
    };
    let mut saved: FxHashMap<ContextId, u64> = FxHashMap::default();
    for conflict in &group.conflicts {
        if conflict.row.access == AccessKind::Read && read_mostly(conflict.here) {
            *saved.entry(conflict.row.context).or_default() += conflict.row.false_lifetime;
        }
    }
    let saved_transfers: u64 = saved.values().sum();
    let largest = saved.values().copied().max().unwrap_or(0);
    let several = saved_transfers - largest >= saved_transfers / OTHERS_PART;
    (several && super::is_majority(saved_transfers, tally.transfers()))
        .then_some(FindingKind::ReadMostly)
}

/// Returns the name of a member or variable; `None` for holes and unknown objects.
fn name_of_target(place: &AccessTarget) -> Option<&str> {
    match place {
        AccessTarget::Member { member, .. } => {
            Some(member.path.as_str()).filter(|path| !path.is_empty())
        }
        AccessTarget::Scalar(object) => object.variable.as_deref(),
        AccessTarget::Unresolved(_) => None,
    }
}

impl MemberUse {
    fn is_read_mostly(&self) -> bool {
        let few = self.stores.saturating_mul(LOADS_PER_STORE) <= self.loads;
        self.readers.len() > 1 && self.loads > 0 && few
    }
}

fn member_uses<'a>(group: &LineGroup<'a>) -> FxHashMap<&'a str, MemberUse> {
    let mut uses: FxHashMap<&str, MemberUse> = FxHashMap::default();
    for count in &group.counts {
        let Some(name) = name_of_target(count.target) else {
            continue;
        };
        let member = uses.entry(name).or_default();
        if count.row.access != AccessKind::Write {
            member.loads += count.row.count;
            member.readers.insert(count.row.context);
        }
        if count.row.access != AccessKind::Read {
            member.stores += count.row.count;
        }
    }
    uses
}

/// Returns true if the member or variable with this name is hardly ever stored to.
pub(super) fn is_read_mostly(group: &LineGroup, name: &str) -> bool {
    member_uses(group)
        .get(name)
        .is_some_and(MemberUse::is_read_mostly)
}

/// Advises to move the read-mostly member with most loads.
pub(super) fn remedy(group: &LineGroup) -> Option<Remedy> {
    let uses = member_uses(group)
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
