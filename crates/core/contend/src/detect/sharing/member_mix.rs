//! Use of a truly shared member, which tells the remedy: no layout helps.
//!
//! The member's type may tell its use (a lock, a reference count, links of a list); otherwise its
//! loads and stores do. Objects are told apart: if each has one context that stores to it, as each
//! CPU's run queue has, there already is a value for each context.

use std::collections::{BTreeMap, BTreeSet};

use relayout_profile::{AccessKind, Addr, ContextId, Profile, RunId};

use crate::detect::lock_word::{is_locked_addition, lock_type_of};
use crate::group::{LineGroup, object_at};
use crate::identify::AccessTarget;
use crate::names::target_name;
use crate::remedy::SharingPattern;

/// Types that count references, of Linux.
const REFERENCE_TYPES: [&str; 4] = ["refcount_struct", "kref", "lockref", "percpu_ref"];
/// Types of links of lists and trees, of Linux, then of glibc and libraries.
const LINK_TYPES: [&str; 10] = [
    "list_head",
    "hlist_head",
    "hlist_node",
    "hlist_bl_head",
    "hlist_bl_node",
    "llist_head",
    "llist_node",
    "rb_node",
    "rb_root",
    "__pthread_internal_list",
];
/// Loads per store from which on a member is mostly read.
const LOADS_PER_STORE: u64 = 8;

/// Loads and stores of a member, over all objects.
#[derive(Default)]
struct MemberMix {
    loads: u64,
    /// Stores. `added` counts those that are additions by locked instructions: several contexts
    /// that add without one do so under a lock, and the member goes with the lock.
    stores: u64,
    added: u64,
    /// Stores by object and context.
    by_object: BTreeMap<(RunId, Addr), BTreeMap<ContextId, u64>>,
}

pub(super) fn sharing_pattern(
    group: &LineGroup,
    profile: &Profile,
    member: &str,
    place: &AccessTarget,
) -> SharingPattern {
    let is_within = |types: &[&str]| match place {
        AccessTarget::Member { member, .. } => {
            let mut path = member.types_path.iter();
            path.any(|name| types.contains(&name.as_str()))
        }
        _ => false,
    };
    match place {
        AccessTarget::Member { member, .. } if lock_type_of(member).is_some() => {
            SharingPattern::Lock
        }
        _ if is_within(&REFERENCE_TYPES) => SharingPattern::References,
        _ if is_within(&LINK_TYPES) => SharingPattern::List,
        _ => MemberMix::new(group, profile, member).pattern(),
    }
}

impl MemberMix {
    fn new(group: &LineGroup, profile: &Profile, member: &str) -> Self {
        let mut mix = Self::default();
        let counts = group.counts.iter();
        for count in counts.filter(|count| target_name(count.target) == member) {
            let row = count.row;
            if row.access == AccessKind::Read {
                mix.loads = mix.loads.saturating_add(row.count);
                continue;
            }
            mix.stores = mix.stores.saturating_add(row.count);
            if is_locked_addition(profile, row.site, row.access) {
                mix.added = mix.added.saturating_add(row.count);
            }
            let base = object_at(count.target).map_or(Addr(0), |object| object.base);
            let contexts = mix.by_object.entry((row.run, base)).or_default();
            let sum = contexts.entry(row.context).or_default();
            *sum = sum.saturating_add(row.count);
        }
        mix
    }

    fn pattern(&self) -> SharingPattern {
        match self.owners() {
            // The line was never busy enough for its accesses to be counted.
            _ if self.stores == 0 => SharingPattern::Batch,
            Some(owners) if owners.len() > 1 => SharingPattern::Owned,
            Some(_) => SharingPattern::Copy,
            None if self.loads >= self.stores.saturating_mul(LOADS_PER_STORE) => {
                SharingPattern::Copy
            }
            // An addition loads by itself; plain loads beside it are by contexts that want the sum.
            None if self.added >= self.stores / 4 * 3 && self.loads <= self.stores => {
                SharingPattern::PerContext
            }
            None => SharingPattern::Batch,
        }
    }

    /// Returns the contexts that store to the objects, if each object has one that makes nine in
    /// ten of its stores.
    fn owners(&self) -> Option<BTreeSet<ContextId>> {
        let (mut owners, mut own) = (BTreeSet::new(), 0_u64);
        for contexts in self.by_object.values() {
            let (owner, most) = contexts.iter().max_by_key(|(_, count)| **count)?;
            owners.insert(*owner);
            own = own.saturating_add(*most);
        }
        (own.saturating_mul(10) >= self.stores.saturating_mul(9)).then_some(owners)
    }
}
