//! Kinds of change to a layout, one file each: what to try.

mod align_member;
mod align_type;
pub(crate) mod exchange_lines;
mod move_align;
mod move_member;
pub(crate) mod two_moves;

use relayout_layout::abi::{Arrangement, Shape};

use crate::order;

/// One edit of a struct's declaration.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// A member (or what moves with it) goes elsewhere.
    Move {
        /// Index into [`Shape::atoms`].
        atom: usize,
        /// The atom it comes after; `None`: it comes first.
        after: Option<usize>,
    },
    /// A member is aligned by attribute.
    AlignMember {
        /// Index into [`Shape::atoms`].
        atom: usize,
        /// Alignment in bytes.
        to: u64,
    },
    /// The type is aligned by attribute.
    AlignType {
        /// Alignment in bytes.
        to: u64,
    },
    /// A new member that nothing accesses.
    Pad {
        /// The atom it comes before; `None`: it comes last.
        before: Option<usize>,
        /// Its size in bytes.
        bytes: u64,
    },
}

impl Change {
    /// What leads from today's layout to `to`, with as few moves as there can be.
    pub(crate) fn all(shape: &Shape, to: &Arrangement) -> Vec<Self> {
        let moved = order::moved(&shape.current().order, &to.order).into_iter();
        let mut changes: Vec<Self> = moved
            .map(|atom| {
                let place = to.order.iter().position(|other| *other == atom);
                let before = place.and_then(|place| place.checked_sub(1));
                Self::Move {
                    atom,
                    after: before.map(|before| to.order[before]),
                }
            })
            .collect();
        for (atom, &align) in to.align.iter().enumerate() {
            if align > shape.atoms[atom].align {
                changes.push(Self::AlignMember { atom, to: align });
            }
        }
        if to.type_align > 1 {
            changes.push(Self::AlignType { to: to.type_align });
        }
        changes
    }

    /// Whether it follows `before` as part of one edit: a member that comes right after one that moved there too.
    pub fn continues(&self, before: &Self) -> bool {
        match (before, self) {
            (Self::Move { atom, .. }, Self::Move { after, .. }) => *after == Some(*atom),
            _ => false,
        }
    }
}

/// Changes by edit: members that go to one place, one behind the other, are one.
fn edits(changes: &[Change]) -> impl Iterator<Item = &[Change]> {
    changes.chunk_by(|before, change| change.continues(before))
}

/// How many edits lead to a layout. A block of members that moves as it is written, is one.
pub fn edit_count(changes: &[Change]) -> usize {
    edits(changes).count()
}

/// In words, one for each edit: `move 'd', 'e' to after 'b'`.
pub fn words(changes: &[Change], shape: &Shape) -> Vec<String> {
    edits(changes).map(|edit| words_of(edit, shape)).collect()
}

fn words_of(edit: &[Change], shape: &Shape) -> String {
    let name = |atom: usize| shape.atoms.get(atom).map_or("?", |atom| &atom.name);
    let first = match edit {
        [first, ..] => first,
        [] => return String::new(),
    };
    match *first {
        Change::Move { after, .. } => {
            let moved = edit.iter().filter_map(|change| match change {
                Change::Move { atom, .. } => Some(format!("'{}'", name(*atom))),
                _ => None,
            });
            let moved: Vec<String> = moved.collect();
            let place = match after {
                Some(after) => format!("after '{}'", name(after)),
                None => "the start".to_owned(),
            };
            format!("move {} to {place}", moved.join(", "))
        }
        Change::AlignMember { atom, to } => format!("align '{}' to {to} bytes", name(atom)),
        Change::AlignType { to } => format!("align the type to {to} bytes"),
        Change::Pad { before, bytes } => match before {
            Some(before) => format!("add {bytes} bytes before '{}'", name(before)),
            None => format!("add {bytes} bytes at the end"),
        },
    }
}

/// A layout to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Proposal {
    pub arrangement: Arrangement,
    pub changes: Vec<Change>,
}

impl Proposal {
    /// Atoms that move.
    pub fn moved(&self) -> usize {
        let moves = |change: &&Change| matches!(change, Change::Move { .. });
        self.changes.iter().filter(moves).count()
    }
}

/// What proposals start from.
pub(crate) struct Ground<'a> {
    pub shape: &'a Shape,
    /// Bytes of a cache line.
    pub line: u64,
}

/// Every kind of change; the order decides ties.
const KINDS: [fn(&Ground<'_>) -> Vec<Proposal>; 4] = [
    move_member::propose,
    align_member::propose,
    align_type::propose,
    move_align::propose,
];

/// Everything to try.
pub(crate) fn propose(ground: &Ground<'_>) -> Vec<Proposal> {
    KINDS.iter().flat_map(|kind| kind(ground)).collect()
}

impl Ground<'_> {
    /// Atoms that move: with bytes of their own, and not bound to the end.
    fn movable(&self) -> impl Iterator<Item = usize> + '_ {
        let atoms = self.shape.atoms.iter().enumerate();
        atoms
            .filter(|(_, atom)| atom.size > 0 && !atom.flexible)
            .map(|(index, _)| index)
    }
}
