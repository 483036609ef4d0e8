//! Comparison of all types of two files.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::change::{MemberMove, MoveCause};
use crate::type_diff::{DiffStatus, TypeDiff};
use crate::type_layout::{PlacedMember, TypeKey, TypeLayout};
use crate::{matching, pairing, unknown};

/// Comparison of the types of two files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayoutDiff {
    /// Layouts of the old file.
    pub old: Vec<TypeLayout>,
    /// Layouts of the new file.
    pub new: Vec<TypeLayout>,
    /// Every type of both files in the order of the new file; removed types come last.
    pub types: Vec<TypeDiff>,
    /// For each type, the changed types that hold it by value: indices in `types`.
    holders: Vec<Vec<usize>>,
}

impl LayoutDiff {
    /// Compares all types of two files. A change inside a held type that is missing in `old` or
    /// `new` counts as a change of its holder; [`compare_sides`](crate::compare_sides) loads such
    /// types.
    pub fn compare(old: Vec<TypeLayout>, new: Vec<TypeLayout>) -> Self {
        let matches = pairing::match_definitions(&old, &new);
        let mut types: Vec<TypeDiff> = matches
            .iter()
            .map(|matched| TypeDiff {
                old: matched.old,
                new: matched.new,
                status: status_of(&old, &new, matched),
                by_itself: false,
                by_order: matched.by_order,
                held: Vec::new(),
            })
            .collect();
        unknown::ignore_unknown_types(&old, &new, &mut types);
        let changes = index_changes(&old, &new, &types);
        for type_diff in &mut types {
            if let (Some(before), Some(after), DiffStatus::Changed) =
                (type_diff.old, type_diff.new, type_diff.status)
            {
                let (before, after) = (&old[before], &new[after]);
                type_diff.held = held_changes(before, after, &changes);
                type_diff.by_itself =
                    type_diff.held.is_empty() || changed_by_itself(before, after, &changes);
            }
        }
        let mut holders = vec![Vec::new(); types.len()];
        for (index, type_diff) in types.iter().enumerate() {
            for held in &type_diff.held {
                holders[*held].push(index);
            }
        }
        Self {
            old,
            new,
            types,
            holders,
        }
    }

    /// New layout of a type, or the old one of a removed type.
    pub fn layout(&self, type_diff: &TypeDiff) -> &TypeLayout {
        match (type_diff.new, type_diff.old) {
            (Some(new), _) => &self.new[new],
            (None, Some(old)) => &self.old[old],
            (None, None) => unreachable!("a type is in one of the files"),
        }
    }

    /// Both layouts of a type that is in both files.
    pub fn both_layouts(&self, type_diff: &TypeDiff) -> Option<(&TypeLayout, &TypeLayout)> {
        Some((&self.old[type_diff.old?], &self.new[type_diff.new?]))
    }

    /// Changed types that hold the type at `index`, directly or inside others: sorted indices in
    /// [`types`](Self::types).
    pub fn affected_holders(&self, index: usize) -> Vec<usize> {
        let mut reached = reachable_from(index, |at| &self.holders[at]);
        reached.sort_unstable();
        reached
    }

    /// Origins of the change of the type at `index`: held types, directly or inside others, whose
    /// own members changed. Sorted indices in [`types`](Self::types).
    pub fn origins(&self, index: usize) -> Vec<usize> {
        let mut reached = reachable_from(index, |at| &self.types[at].held);
        reached.retain(|at| self.types[*at].by_itself);
        reached.sort_unstable();
        reached
    }
}

/// Nodes that can be reached from `start`, without `start`.
fn reachable_from<'g>(start: usize, next: impl Fn(usize) -> &'g Vec<usize>) -> Vec<usize> {
    let mut seen = FxHashSet::default();
    let mut pending = vec![start];
    let mut reached = Vec::new();
    seen.insert(start);
    while let Some(at) = pending.pop() {
        for &other in next(at) {
            if seen.insert(other) {
                reached.push(other);
                pending.push(other);
            }
        }
    }
    reached
}

fn status_of(
    old: &[TypeLayout],
    new: &[TypeLayout],
    matched: &pairing::DefinitionMatch,
) -> DiffStatus {
    match (matched.old, matched.new) {
        (None, _) => DiffStatus::Added,
        (_, None) => DiffStatus::Removed,
        (Some(before), Some(after)) => {
            let (before, after) = (&old[before], &new[after]);
            if before.fingerprint == after.fingerprint && !before.is_realigned(after) {
                DiffStatus::Same
            } else {
                DiffStatus::Changed
            }
        }
    }
}

/// Changed types by key and by the fingerprints of both layouts, because a name may have several
/// definitions.
type HeldChanges<'s> = FxHashMap<(&'s TypeKey, u64, u64), usize>;

fn index_changes<'s>(
    old: &'s [TypeLayout],
    new: &'s [TypeLayout],
    types: &[TypeDiff],
) -> HeldChanges<'s> {
    let mut changes = HeldChanges::default();
    for (index, type_diff) in types.iter().enumerate() {
        if let (Some(before), Some(after), DiffStatus::Changed) =
            (type_diff.old, type_diff.new, type_diff.status)
        {
            let (before, after) = (&old[before], &new[after]);
            let key = (&after.key, before.fingerprint, after.fingerprint);
            changes.entry(key).or_insert(index);
        }
    }
    changes
}

/// Changed type that a member holds in both layouts.
fn held_change<'s>(
    old: &'s PlacedMember,
    new: &'s PlacedMember,
    changes: &HeldChanges<'s>,
) -> Option<usize> {
    let (before, after) = (old.held_type.as_ref()?, new.held_type.as_ref()?);
    if before.key != after.key || before.fingerprint == after.fingerprint {
        return None;
    }
    let key = (&after.key, before.fingerprint, after.fingerprint);
    changes.get(&key).copied()
}

fn held_changes(old: &TypeLayout, new: &TypeLayout, changes: &HeldChanges<'_>) -> Vec<usize> {
    let members = matching::match_members(old, new);
    let mut reached: Vec<usize> = members
        .iter()
        .filter_map(|member| {
            held_change(
                &old.members[member.old?],
                &new.members[member.new?],
                changes,
            )
        })
        .collect();
    reached.sort_unstable();
    reached.dedup();
    reached
}

/// Returns true if the two layouts differ in more than the layouts of held types.
fn changed_by_itself(old: &TypeLayout, new: &TypeLayout, changes: &HeldChanges<'_>) -> bool {
    let edited = |member: &MemberMove| {
        let (Some(before), Some(after)) = (member.old, member.new) else {
            return true;
        };
        let (before, after) = (&old.members[before], &new.members[after]);
        let resized = before.is_resized(after);
        let explained =
            held_change(before, after, changes).is_some_and(|_| same_element_count(before, after));
        member.cause == MoveCause::Reordered || resized && !explained
    };
    old.is_realigned(new) || matching::match_members(old, new).iter().any(edited)
}

/// Returns true if both members hold the same number of elements.
fn same_element_count(old: &PlacedMember, new: &PlacedMember) -> bool {
    let count = |member: &PlacedMember| {
        let size = member.held_type.as_ref().map_or(0, |held| held.size);
        member.size.checked_div(size)
    };
    match (count(old), count(new)) {
        (Some(old), Some(new)) => old == new,
        // An empty element (a lock in a kernel without SMP) fits any number of times.
        _ => true,
    }
}
