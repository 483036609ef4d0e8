//! What is different between the types of two files: two builds, two configurations, two
//! compilers.
//!
//! A [`Shape`] is one type with its members in their places; [`Diff::of`] matches the shapes of two
//! files and says which changed, by themselves or only because of a type that they hold by value;
//! [`Detail::of`] says what changed in one. [`collect`] loads what has to be compared.
//!
//! Only places count: names of members, offsets, sizes, bits. `long unsigned int` and `unsigned
//! long` are one type, and `int` in the place of `unsigned int` is no difference.

mod collect;
mod detail;
mod fingerprint;
mod gaps;
mod lines;
mod matching;
mod pairing;
mod pushes;
mod room;
mod shape;
mod spelling;
mod unknown;

use rustc_hash::FxHashMap;

pub use collect::{DiffSide, compare_sides};
pub use detail::{GapChange, MemberMove, MoveCause, TypeDiffDetail};
pub use gaps::BitGap;
pub use lines::{PAIRS_MAX, PairChange, lines_overlap};
pub use matching::longest_increasing;
pub use pushes::{MemberPush, Pusher, PusherAction};
pub use room::MemberRoom;
pub use shape::{HeldType, PlacedMember, TypeKey, TypeLayout, TypeTag};

/// How one type compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DiffStatus {
    /// It is in the new file only.
    Added,
    /// It is in the old file only.
    Removed,
    /// It, or a type that it holds by value, is laid out differently.
    Changed,
    /// It is laid out as before.
    Same,
}

impl DiffStatus {
    /// The word that scripts rely on.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
            Self::Same => "same",
        }
    }
}

/// One type of one file or both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeDiff {
    /// Index in [`Diff::old`].
    pub old: Option<usize>,
    /// Index in [`Diff::new`].
    pub new: Option<usize>,
    /// How the two compare.
    pub status: DiffStatus,
    /// Changed by itself, not only because of a type that it holds.
    pub by_itself: bool,
    /// Matched by order alone, since its name has several definitions and nothing says where they
    /// are declared.
    pub by_order: bool,
    /// Changed types that it holds by value: indices in [`Diff::types`].
    pub held: Vec<usize>,
}

/// The types of two files, compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayoutDiff {
    /// Of the old file.
    pub old: Vec<TypeLayout>,
    /// Of the new file.
    pub new: Vec<TypeLayout>,
    /// Every type of both, in the order of the new file; those that are gone come last.
    pub types: Vec<TypeDiff>,
    /// For each type, those that hold it by value and changed: indices in `types`.
    holders: Vec<Vec<usize>>,
}

impl LayoutDiff {
    /// Compares all types of two files. Types that one of them holds by value and that are not
    /// among its shapes count as its own; see [`complete`].
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
        let known = index_changes(&old, &new, &types);
        for type_diff in &mut types {
            if let (Some(before), Some(after), DiffStatus::Changed) =
                (type_diff.old, type_diff.new, type_diff.status)
            {
                let (before, after) = (&old[before], &new[after]);
                type_diff.held = held_changes(before, after, &known);
                type_diff.by_itself =
                    type_diff.held.is_empty() || changed_by_itself(before, after, &known);
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

    /// The shape that stands for a type: the new one, or the old one of a type that is gone.
    pub fn layout(&self, type_diff: &TypeDiff) -> &TypeLayout {
        match (type_diff.new, type_diff.old) {
            (Some(new), _) => &self.new[new],
            (None, Some(old)) => &self.old[old],
            (None, None) => unreachable!("a type is in one of the files"),
        }
    }

    /// Both shapes of a type that is in both files.
    pub fn both_layouts(&self, type_diff: &TypeDiff) -> Option<(&TypeLayout, &TypeLayout)> {
        Some((&self.old[type_diff.old?], &self.new[type_diff.new?]))
    }

    /// Types that hold the type at `index`, themselves or inside others, and changed: indices in
    /// [`types`](Self::types), in their order.
    pub fn affected_holders(&self, index: usize) -> Vec<usize> {
        let mut found = reachable_from(index, |at| &self.holders[at]);
        found.sort_unstable();
        found
    }

    /// The types that the type at `index` changed because of: those that it holds, themselves or
    /// inside others, which changed by themselves.
    pub fn origins(&self, index: usize) -> Vec<usize> {
        let mut found = reachable_from(index, |at| &self.types[at].held);
        found.retain(|at| self.types[*at].by_itself);
        found.sort_unstable();
        found
    }
}

/// All that can be reached, without the start.
fn reachable_from<'g>(start: usize, next: impl Fn(usize) -> &'g Vec<usize>) -> Vec<usize> {
    let mut seen = rustc_hash::FxHashSet::default();
    let mut pending = vec![start];
    let mut found = Vec::new();
    seen.insert(start);
    while let Some(at) = pending.pop() {
        for &other in next(at) {
            if seen.insert(other) {
                found.push(other);
                pending.push(other);
            }
        }
    }
    found
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
            if before.fingerprint == after.fingerprint && !is_realigned(before, after) {
                DiffStatus::Same
            } else {
                DiffStatus::Changed
            }
        }
    }
}

/// Its declared alignment is another one. Not if only one side has one: debug information of some
/// compilers and versions leaves it out.
fn is_realigned(old: &TypeLayout, new: &TypeLayout) -> bool {
    match (old.declared_align, new.declared_align) {
        (Some(old), Some(new)) => old != new,
        _ => false,
    }
}

/// Changed types by the fingerprints of both sides. A held type is known by them, since its name
/// may have several definitions.
type HeldChanges<'s> = FxHashMap<(&'s TypeKey, u64, u64), usize>;

fn index_changes<'s>(
    old: &'s [TypeLayout],
    new: &'s [TypeLayout],
    types: &[TypeDiff],
) -> HeldChanges<'s> {
    let mut known = HeldChanges::default();
    for (index, type_diff) in types.iter().enumerate() {
        if let (Some(before), Some(after), DiffStatus::Changed) =
            (type_diff.old, type_diff.new, type_diff.status)
        {
            let (before, after) = (&old[before], &new[after]);
            let key = (&after.key, before.fingerprint, after.fingerprint);
            known.entry(key).or_insert(index);
        }
    }
    known
}

/// The changed type that a member holds in both shapes.
fn held_change<'s>(
    old: &'s PlacedMember,
    new: &'s PlacedMember,
    known: &HeldChanges<'s>,
) -> Option<usize> {
    let (before, after) = (old.held_type.as_ref()?, new.held_type.as_ref()?);
    if before.key != after.key || before.fingerprint == after.fingerprint {
        return None;
    }
    let key = (&after.key, before.fingerprint, after.fingerprint);
    known.get(&key).copied()
}

fn held_changes(old: &TypeLayout, new: &TypeLayout, known: &HeldChanges<'_>) -> Vec<usize> {
    let members = matching::match_members(old, new);
    let mut found: Vec<usize> = members
        .iter()
        .filter_map(|member| {
            held_change(&old.members[member.old?], &new.members[member.new?], known)
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether something changed that a held type's change does not explain.
fn changed_by_itself(old: &TypeLayout, new: &TypeLayout, known: &HeldChanges<'_>) -> bool {
    let edited = |member: &MemberMove| {
        let (Some(before), Some(after)) = (member.old, member.new) else {
            return true;
        };
        let (before, after) = (&old.members[before], &new.members[after]);
        let resized = before.is_resized(after);
        let explained =
            held_change(before, after, known).is_some_and(|_| same_element_count(before, after));
        member.cause == MoveCause::Reordered || resized && !explained
    };
    is_realigned(old, new) || matching::match_members(old, new).iter().any(edited)
}

/// Whether as many elements of what they hold fit both.
fn same_element_count(old: &PlacedMember, new: &PlacedMember) -> bool {
    let count = |field: &PlacedMember| {
        let size = field.held_type.as_ref().map_or(0, |holds| holds.size);
        field.size.checked_div(size)
    };
    match (count(old), count(new)) {
        (Some(old), Some(new)) => old == new,
        // One of them is empty (a lock of a kernel without SMP), and then so is any number.
        _ => true,
    }
}
