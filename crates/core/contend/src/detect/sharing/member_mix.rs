//! Use of a truly shared member, which tells the remedy beside other layouts.
//!
//! The member's type may tell its use (a lock, a reference count, links of a list); otherwise its
//! loads and stores do. Objects are told apart: if each has one context that stores to it, as each
//! CPU's run queue has, there already is a value for each context.

use std::collections::{BTreeMap, BTreeSet};

use relayout_profile::{AccessKind, Addr, ContextId, Profile, RunId, SiteId};

use crate::detect::lock_word::is_locked_addition;
use crate::group::{LineGroup, object_at};
use crate::identify::{AccessTarget, SiteOperation};
use crate::lock_types::lock_type_of;
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
/// Percent of a member's stores that give back references, at least, where it counts them.
const RELEASES_MIN: u64 = 20;
/// Loads per store from which on a member is mostly read.
const LOADS_PER_STORE: u64 = 8;

/// Loads and stores of a member, over all objects.
#[derive(Default)]
struct MemberMix {
    loads: u64,
    stores: u64,
    /// Stores by operation. Additions are those of locked instructions: several contexts that add
    /// without one do so under a lock, and the member goes with the lock.
    by_operation: BTreeMap<SiteOperation, u64>,
    /// Stores by object and context.
    by_object: BTreeMap<(RunId, Addr), BTreeMap<ContextId, u64>>,
}

pub(super) fn sharing_pattern(
    group: &LineGroup,
    profile: &Profile,
    operation: &dyn Fn(SiteId) -> SiteOperation,
    (member, place): (&str, &AccessTarget),
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
        _ => MemberMix::new(group, profile, operation, member).pattern(),
    }
}

impl MemberMix {
    fn new(
        group: &LineGroup,
        profile: &Profile,
        operation: &dyn Fn(SiteId) -> SiteOperation,
        member: &str,
    ) -> Self {
        let mut mix = Self::default();
        let counts = group.counts.iter();
        for count in counts.filter(|count| target_name(count.target) == member) {
            let row = count.row;
            if row.access == AccessKind::Read {
                mix.loads = mix.loads.saturating_add(row.count);
                continue;
            }
            mix.stores = mix.stores.saturating_add(row.count);
            let operation = match operation(row.site) {
                SiteOperation::Unknown if is_locked_addition(profile, row.site, row.access) => {
                    SiteOperation::Add
                }
                operation => operation,
            };
            let sum = mix.by_operation.entry(operation).or_default();
            *sum = sum.saturating_add(row.count);
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
            None => self.operation_pattern(),
        }
    }

    /// Returns the pattern by what the stores do with the value.
    fn operation_pattern(&self) -> SharingPattern {
        let count = |operation| self.by_operation.get(&operation).copied().unwrap_or(0);
        let is_most = |operations: u64| operations > 0 && operations >= self.stores / 4 * 3;
        let sums = count(SiteOperation::Add) + count(SiteOperation::Subtract);
        let draws = count(SiteOperation::DrawNumber);
        let releases = count(SiteOperation::Release);
        let exchanges = count(SiteOperation::Exchange);
        let compares = count(SiteOperation::CompareExchange);
        // A count is taken by an addition, and given back by a subtraction that tests it.
        let counts = sums + draws + releases;
        if releases >= RELEASES_MIN * self.stores / 100 && releases > 0 && is_most(counts) {
            return SharingPattern::References;
        }
        // An addition loads by itself; plain loads beside it are by contexts that want the sum.
        if is_most(sums) && self.loads <= self.stores {
            return SharingPattern::PerContext;
        }
        if is_most(draws + sums) && draws > sums {
            return SharingPattern::Ticket;
        }
        if is_most(count(SiteOperation::Bits)) {
            return SharingPattern::Bits;
        }
        // A lock is taken by a comparison, and released by an exchange or a plain store.
        if exchanges > 0 && exchanges + compares >= self.stores / 2 {
            return SharingPattern::WaitWord;
        }
        if compares >= self.stores / 2 && compares > 0 {
            return SharingPattern::State;
        }
        SharingPattern::Batch
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
