//! Types that one file defines and the other only declares, held by value all the same: clang leaves
//! out classes of libraries. What is unknown is no difference.

use rustc_hash::FxHashSet;

use super::shape::{Field, Key, Shape};
use super::{Status, TypeDiff, matching, realigned};

/// Types hold types; more levels than that are damaged debug information.
const ROUNDS_MAX: usize = 64;

/// Types that are laid out alike as far as both files know, by name and fingerprints.
type Alike<'s> = FxHashSet<(&'s Key, u64, u64)>;

/// Marks changed types as the same where all that differs is unknown in one file.
pub(super) fn set_same(old: &[Shape], new: &[Shape], types: &mut [TypeDiff]) {
    let unknown = |shape: &Shape| shape.fields.iter().any(|field| field.unknown);
    if !old.iter().chain(new).any(unknown) {
        return;
    }
    let mut alike = Alike::default();
    for _ in 0..ROUNDS_MAX {
        let before = alike.len();
        for each in &mut *types {
            if let (Some(was), Some(is), Status::Changed) = (each.old, each.new, each.status) {
                let (was, is) = (&old[was], &new[is]);
                if same(was, is, &alike) {
                    each.status = Status::Same;
                    alike.insert((&is.key, was.fingerprint, is.fingerprint));
                }
            }
        }
        if alike.len() == before {
            return;
        }
    }
}

fn same(old: &Shape, new: &Shape, alike: &Alike<'_>) -> bool {
    old.size == new.size
        && old.fields.len() == new.fields.len()
        && !realigned(old, new)
        && matching::members(old, new).iter().all(|member| {
            let (Some(before), Some(after)) = (member.old, member.new) else {
                return false;
            };
            let (before, after) = (&old.fields[before], &new.fields[after]);
            let place = before.start_bits() == after.start_bits();
            place && !before.is_resized(after) && same_inside(before, after, alike)
        })
}

fn same_inside(old: &Field, new: &Field, alike: &Alike<'_>) -> bool {
    match (&old.holds, &new.holds) {
        (Some(before), Some(after)) => {
            before.fingerprint == after.fingerprint
                || alike.contains(&(&after.key, before.fingerprint, after.fingerprint))
        }
        _ => true,
    }
}
