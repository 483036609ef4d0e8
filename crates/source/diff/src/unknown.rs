//! Types that one file defines and the other only declares, but holds by value. Clang leaves
//! classes of libraries out. An unknown layout counts as no difference.

use rustc_hash::FxHashSet;

use crate::matching;
use crate::type_diff::{DiffStatus, TypeDiff};
use crate::type_layout::{PlacedMember, TypeKey, TypeLayout};

/// Most levels of types that hold types. More is damaged debug information.
const ROUNDS_MAX: usize = 64;

/// Types with equal known parts in both files, by key and fingerprints.
type AlikeTypes<'s> = FxHashSet<(&'s TypeKey, u64, u64)>;

/// Marks changed types as the same if all differences are unknown in one file.
pub(super) fn ignore_unknown_types(old: &[TypeLayout], new: &[TypeLayout], types: &mut [TypeDiff]) {
    let unknown = |layout: &TypeLayout| layout.members.iter().any(|member| member.type_unknown);
    if !old.iter().chain(new).any(unknown) {
        return;
    }
    let mut alike = AlikeTypes::default();
    for _ in 0..ROUNDS_MAX {
        let before = alike.len();
        for type_diff in &mut *types {
            if let (Some(was), Some(is), DiffStatus::Changed) =
                (type_diff.old, type_diff.new, type_diff.status)
            {
                let (was, is) = (&old[was], &new[is]);
                if same_where_known(was, is, &alike) {
                    type_diff.status = DiffStatus::Same;
                    alike.insert((&is.key, was.fingerprint, is.fingerprint));
                }
            }
        }
        if alike.len() == before {
            return;
        }
    }
}

fn same_where_known(old: &TypeLayout, new: &TypeLayout, alike: &AlikeTypes<'_>) -> bool {
    old.size == new.size
        && old.members.len() == new.members.len()
        && !old.is_realigned(new)
        && matching::match_members(old, new).iter().all(|member| {
            let (Some(before), Some(after)) = (member.old, member.new) else {
                return false;
            };
            let (before, after) = (&old.members[before], &new.members[after]);
            let place = before.start_bits() == after.start_bits();
            place && !before.is_resized(after) && same_held_type(before, after, alike)
        })
}

fn same_held_type(old: &PlacedMember, new: &PlacedMember, alike: &AlikeTypes<'_>) -> bool {
    match (&old.held_type, &new.held_type) {
        (Some(before), Some(after)) => {
            before.fingerprint == after.fingerprint
                || alike.contains(&(&after.key, before.fingerprint, after.fingerprint))
        }
        _ => true,
    }
}
