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

    /// The change in words: `move 'd' to after 'b'`.
    pub fn words(&self, shape: &Shape) -> String {
        let name = |atom: usize| shape.atoms.get(atom).map_or("?", |atom| &atom.name);
        match *self {
            Self::Move {
                atom,
                after: Some(after),
            } => {
                format!("move '{}' to after '{}'", name(atom), name(after))
            }
            Self::Move { atom, after: None } => format!("move '{}' to the start", name(atom)),
            Self::AlignMember { atom, to } => format!("align '{}' to {to} bytes", name(atom)),
            Self::AlignType { to } => format!("align the type to {to} bytes"),
            Self::Pad { before, bytes } => match before {
                Some(before) => format!("add {bytes} bytes before '{}'", name(before)),
                None => format!("add {bytes} bytes at the end"),
            },
        }
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
