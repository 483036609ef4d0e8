//! Types that one file defines and the other only declares, held by value all the same: clang leaves
//! out classes of libraries. What is unknown is no difference.
use rustc_hash::FxHashSet;

use crate::shape::{PlacedMember, TypeKey, TypeLayout};
use crate::{DiffStatus, TypeDiff, is_realigned, matching};

/// Types hold types; more levels than that are damaged debug information.
const ROUNDS_MAX: usize = 64;

/// Types that are laid out alike as far as both files know, by name and fingerprints.
type AlikeTypes<'s> = FxHashSet<(&'s TypeKey, u64, u64)>;

/// Marks changed types as the same where all that differs is unknown in one file.
pub(super) fn ignore_unknown_types(old: &[TypeLayout], new: &[TypeLayout], types: &mut [TypeDiff]) {
    let unknown = |shape: &TypeLayout| shape.members.iter().any(|field| field.type_unknown);
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
        && !is_realigned(old, new)
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
