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
mod path;
mod pushes;
mod room;
mod shape;
mod spelling;
mod unknown;

use rustc_hash::FxHashMap;

pub use collect::{Side, complete};
pub use detail::{Cause, Detail, GapChange, MemberMove};
pub use gaps::Gap;
pub use lines::{PAIRS_MAX, PairChange, share};
pub use matching::longest_increasing;
pub use path::{Elements, Located};
pub use pushes::{Deed, Push, Pusher};
pub use room::Room;
pub use shape::{Field, Holds, Key, Shape, Tag};

/// How one type compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Status {
    /// It is in the new file only.
    Added,
    /// It is in the old file only.
    Removed,
    /// It, or a type that it holds by value, is laid out differently.
    Changed,
    /// It is laid out as before.
    Same,
}

impl Status {
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
    pub status: Status,
    /// Changed by itself, not only because of a type that it holds.
    pub own: bool,
    /// Matched by order alone, since its name has several definitions and nothing says where they
    /// are declared.
    pub by_order: bool,
    /// Changed types that it holds by value: indices in [`Diff::types`].
    pub holds: Vec<usize>,
}

/// The types of two files, compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diff {
    /// Of the old file.
    pub old: Vec<Shape>,
    /// Of the new file.
    pub new: Vec<Shape>,
    /// Every type of both, in the order of the new file; those that are gone come last.
    pub types: Vec<TypeDiff>,
    /// For each type, those that hold it by value and changed: indices in `types`.
    holders: Vec<Vec<usize>>,
}

impl Diff {
    /// Compares all types of two files. Types that one of them holds by value and that are not
    /// among its shapes count as its own; see [`complete`].
    pub fn of(old: Vec<Shape>, new: Vec<Shape>) -> Self {
        let matches = pairing::all(&old, &new);
        let mut types: Vec<TypeDiff> = matches
            .iter()
            .map(|found| TypeDiff {
                old: found.old,
                new: found.new,
                status: status(&old, &new, found),
                own: false,
                by_order: found.by_order,
                holds: Vec::new(),
            })
            .collect();
        unknown::set_same(&old, &new, &mut types);
        let known = by_fingerprints(&old, &new, &types);
        for each in &mut types {
            if let (Some(before), Some(after), Status::Changed) = (each.old, each.new, each.status)
            {
                let (before, after) = (&old[before], &new[after]);
                each.holds = held(before, after, &known);
                each.own = each.holds.is_empty() || own(before, after, &known);
            }
        }
        let mut holders = vec![Vec::new(); types.len()];
        for (index, each) in types.iter().enumerate() {
            for held in &each.holds {
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
    pub fn shape(&self, of: &TypeDiff) -> &Shape {
        match (of.new, of.old) {
            (Some(new), _) => &self.new[new],
            (None, Some(old)) => &self.old[old],
            (None, None) => unreachable!("a type is in one of the files"),
        }
    }

    /// Both shapes of a type that is in both files.
    pub fn shapes(&self, of: &TypeDiff) -> Option<(&Shape, &Shape)> {
        Some((&self.old[of.old?], &self.new[of.new?]))
    }

    /// Types that hold the type at `index`, themselves or inside others, and changed: indices in
    /// [`types`](Self::types), in their order.
    pub fn affected(&self, index: usize) -> Vec<usize> {
        let mut found = reach(index, |at| &self.holders[at]);
        found.sort_unstable();
        found
    }

    /// The types that the type at `index` changed because of: those that it holds, themselves or
    /// inside others, which changed by themselves.
    pub fn origins(&self, index: usize) -> Vec<usize> {
        let mut found = reach(index, |at| &self.types[at].holds);
        found.retain(|at| self.types[*at].own);
        found.sort_unstable();
        found
    }
}

/// All that can be reached, without the start.
fn reach<'g>(start: usize, next: impl Fn(usize) -> &'g Vec<usize>) -> Vec<usize> {
    let mut seen = rustc_hash::FxHashSet::default();
    let mut todo = vec![start];
    let mut found = Vec::new();
    seen.insert(start);
    while let Some(at) = todo.pop() {
        for &other in next(at) {
            if seen.insert(other) {
                found.push(other);
                todo.push(other);
            }
        }
    }
    found
}

fn status(old: &[Shape], new: &[Shape], found: &pairing::Match) -> Status {
    match (found.old, found.new) {
        (None, _) => Status::Added,
        (_, None) => Status::Removed,
        (Some(before), Some(after)) => {
            let (before, after) = (&old[before], &new[after]);
            if before.fingerprint == after.fingerprint && !realigned(before, after) {
                Status::Same
            } else {
                Status::Changed
            }
        }
    }
}

/// Its declared alignment is another one. Not if only one side has one: debug information of some
/// compilers and versions leaves it out.
fn realigned(old: &Shape, new: &Shape) -> bool {
    match (old.declared_align, new.declared_align) {
        (Some(old), Some(new)) => old != new,
        _ => false,
    }
}

/// Changed types by the fingerprints of both sides. A held type is known by them, since its name
/// may have several definitions.
type Known<'s> = FxHashMap<(&'s Key, u64, u64), usize>;

fn by_fingerprints<'s>(old: &'s [Shape], new: &'s [Shape], types: &[TypeDiff]) -> Known<'s> {
    let mut known = Known::default();
    for (index, each) in types.iter().enumerate() {
        if let (Some(before), Some(after), Status::Changed) = (each.old, each.new, each.status) {
            let (before, after) = (&old[before], &new[after]);
            let key = (&after.key, before.fingerprint, after.fingerprint);
            known.entry(key).or_insert(index);
        }
    }
    known
}

/// The changed type that a member holds in both shapes.
fn held_by<'s>(old: &'s Field, new: &'s Field, known: &Known<'s>) -> Option<usize> {
    let (before, after) = (old.holds.as_ref()?, new.holds.as_ref()?);
    if before.key != after.key || before.fingerprint == after.fingerprint {
        return None;
    }
    let key = (&after.key, before.fingerprint, after.fingerprint);
    known.get(&key).copied()
}

fn held(old: &Shape, new: &Shape, known: &Known<'_>) -> Vec<usize> {
    let members = matching::members(old, new);
    let mut found: Vec<usize> = members
        .iter()
        .filter_map(|member| held_by(&old.fields[member.old?], &new.fields[member.new?], known))
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether something changed that a held type's change does not explain.
fn own(old: &Shape, new: &Shape, known: &Known<'_>) -> bool {
    let edited = |member: &MemberMove| {
        let (Some(before), Some(after)) = (member.old, member.new) else {
            return true;
        };
        let (before, after) = (&old.fields[before], &new.fields[after]);
        let resized = before.is_resized(after);
        let explained = held_by(before, after, known).is_some_and(|_| same_count(before, after));
        member.cause == Cause::Reordered || resized && !explained
    };
    realigned(old, new) || matching::members(old, new).iter().any(edited)
}

/// Whether as many elements of what they hold fit both.
fn same_count(old: &Field, new: &Field) -> bool {
    let count = |field: &Field| {
        let size = field.holds.as_ref().map_or(0, |holds| holds.size);
        field.size.checked_div(size)
    };
    match (count(old), count(new)) {
        (Some(old), Some(new)) => old == new,
        // One of them is empty (a lock of a kernel without SMP), and then so is any number.
        _ => true,
    }
}
