//! Kinds of change to a layout, one file each: what to try.

mod align_member;
mod align_type;
mod move_align;
mod move_member;

use relayout_layout::abi::{Arrangement, Shape};

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
}

impl Change {
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
        }
    }
}

/// A layout to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Proposal {
    pub arrangement: Arrangement,
    pub changes: Vec<Change>,
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
