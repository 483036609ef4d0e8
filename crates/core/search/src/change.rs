//! Kinds of change to a layout, one file each: they propose what to try.

mod align_member;
mod align_type;
pub(crate) mod atom_placer;
pub(crate) mod exchange_lines;
mod move_align;
mod move_member;
mod pad_member;
mod pad_type;
mod round_runs;
pub(crate) mod small_edits;
mod spread_elements;
pub(crate) mod two_moves;
pub(crate) mod wrapped_fields;

use relayout_contend::RoundedRuns;
use relayout_layout::abi::{AtomArrangement, ElementSpread, PaddingMember, StructShape};

use crate::array_uses::UsedArray;
use crate::order;

/// One edit of a struct's declaration.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LayoutChange {
    /// A member moves, with the members that move as one with it.
    Move {
        /// Index into [`StructShape::atoms`].
        atom: usize,
        /// The atom it comes after; `None`: it comes first.
        after: Option<usize>,
    },
    /// A member is aligned by attribute.
    AlignMember {
        /// Index into [`StructShape::atoms`].
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
    /// The fields of a Rust struct get a fixed order, by `#[repr(C)]`.
    FixOrder {
        /// All indexes into [`StructShape::atoms`], in the new order.
        order: Vec<usize>,
    },
    /// The elements of an array that is a member get lines of their own.
    SpreadElements {
        /// Index into [`StructShape::atoms`].
        atom: usize,
        /// Bytes of an element.
        element_bytes: u64,
        /// Bytes from one element to the next.
        stride: u64,
        /// Alignment of the first element in bytes; 1 where it stays.
        align: u64,
    },
    /// Each run of elements of an array that one context uses begins at a line.
    RoundRuns {
        /// Index into [`StructShape::atoms`] of the array; `None` where the objects of the type are
        /// its elements.
        atom: Option<usize>,
        /// Bytes of an element.
        element_bytes: u64,
        /// Alignment of the first element of each run, in bytes.
        to: u64,
    },
}

impl LayoutChange {
    /// Returns the changes that lead from today's layout to `to`, with as few moves as possible.
    pub(crate) fn leading_to(shape: &StructShape, to: &AtomArrangement) -> Vec<Self> {
        let moved = order::moved_atoms(&shape.current_arrangement().order, &to.order).into_iter();
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
        let is_spread = |atom: usize| to.spreads.iter().any(|spread| spread.atom == atom);
        for (atom, &align) in to.align.iter().enumerate() {
            if align > shape.atoms[atom].align && !is_spread(atom) {
                changes.push(Self::AlignMember { atom, to: align });
            }
        }
        if to.type_align > 1 {
            changes.push(Self::AlignType { to: to.type_align });
        }
        changes.extend(to.spreads.iter().map(Self::from_spread));
        if to.run_align > 1 {
            changes.push(Self::RoundRuns {
                atom: None,
                element_bytes: shape.lay_out(&shape.current_arrangement()).size,
                to: to.run_align,
            });
        }
        changes
    }

    fn from_spread(spread: &ElementSpread) -> Self {
        let mut strides = spread.starts.windows(2).map(|pair| pair[1] - pair[0]);
        let first = strides.next().unwrap_or(spread.size);
        match strides.all(|stride| stride == first) && first > spread.element_bytes {
            true => Self::SpreadElements {
                atom: spread.atom,
                element_bytes: spread.element_bytes,
                stride: first,
                align: spread.align,
            },
            false => Self::RoundRuns {
                atom: Some(spread.atom),
                element_bytes: spread.element_bytes,
                to: spread.align,
            },
        }
    }

    /// Returns true for a change of arrays whose elements different contexts use.
    pub fn is_of_elements(&self) -> bool {
        matches!(self, Self::SpreadElements { .. } | Self::RoundRuns { .. })
    }

    /// Returns true if the change belongs to the same edit as `before`: a member that comes right
    /// behind one that moved there too.
    pub fn continues(&self, before: &Self) -> bool {
        match (before, self) {
            (Self::Move { atom, .. }, Self::Move { after, .. }) => *after == Some(*atom),
            _ => false,
        }
    }

    /// Returns the number of atoms that the change moves.
    fn moved(&self) -> usize {
        match self {
            Self::Move { .. } => 1,
            Self::FixOrder { order } => {
                let today: Vec<usize> = (0..order.len()).collect();
                order::moved_atoms(&today, order).len()
            }
            Self::AlignMember { .. }
            | Self::AlignType { .. }
            | Self::Pad { .. }
            | Self::SpreadElements { .. }
            | Self::RoundRuns { .. } => 0,
        }
    }
}

/// Groups changes by edit: members that go to one place, one behind the other, are one edit.
fn edits(changes: &[LayoutChange]) -> impl Iterator<Item = &[LayoutChange]> {
    changes.chunk_by(|before, change| change.continues(before))
}

/// Returns the number of edits that lead to a layout. A block of members that moves as it is
/// written is one edit.
pub fn edit_count(changes: &[LayoutChange]) -> usize {
    edits(changes).count()
}

/// Describes each edit in words: `move 'd', 'e' to after 'b'`.
pub fn describe_edits(changes: &[LayoutChange], shape: &StructShape) -> Vec<String> {
    edits(changes)
        .map(|edit| describe_edit(edit, shape))
        .collect()
}

fn describe_edit(edit: &[LayoutChange], shape: &StructShape) -> String {
    let name = |atom: usize| shape.atoms.get(atom).map_or("?", |atom| atom.name.as_str());
    let first = match edit {
        [first, ..] => first,
        [] => return String::new(),
    };
    match first {
        LayoutChange::Move { after, .. } => {
            let moved = edit.iter().filter_map(|change| match change {
                LayoutChange::Move { atom, .. } => Some(format!("'{}'", name(*atom))),
                _ => None,
            });
            let moved: Vec<String> = moved.collect();
            let place = match after {
                Some(after) => format!("after '{}'", name(*after)),
                None => "the start".to_owned(),
            };
            format!("move {} to {place}", moved.join(", "))
        }
        LayoutChange::AlignMember { atom, to } => {
            format!("align '{}' to {to} bytes", name(*atom))
        }
        LayoutChange::AlignType { to } => format!("align the type to {to} bytes"),
        LayoutChange::Pad { before, bytes } => match before {
            Some(before) => format!("add {bytes} bytes before '{}'", name(*before)),
            None => format!("add {bytes} bytes at the end"),
        },
        LayoutChange::FixOrder { order } => {
            let names: Vec<&str> = order.iter().map(|atom| name(*atom)).collect();
            format!("add #[repr(C)] with the order {}", names.join(", "))
        }
        LayoutChange::SpreadElements {
            atom,
            element_bytes,
            stride,
            align,
        } => {
            let aligned = match align {
                0 | 1 => String::new(),
                _ => format!(", aligned to {align}"),
            };
            format!(
                "give each element of '{}' ({element_bytes} bytes) lines of its own: {stride} bytes \
                 from one to the next{aligned}",
                name(*atom)
            )
        }
        LayoutChange::RoundRuns {
            atom,
            element_bytes,
            to,
        } => {
            let array = match atom {
                Some(atom) => format!("'{}'", name(*atom)),
                None => "the array".to_owned(),
            };
            format!(
                "round the runs of {array} that each thread or CPU uses up to multiples of {} elements, and \
                 align it to {to} bytes",
                elements_of_lines(*element_bytes, *to)
            )
        }
    }
}

/// Returns the number of elements after which one begins at a multiple of `align` again.
///
/// ```
/// assert_eq!(relayout_search::change::elements_of_lines(4, 64), 16);
/// assert_eq!(relayout_search::change::elements_of_lines(24, 64), 8);
/// ```
pub fn elements_of_lines(element_bytes: u64, align: u64) -> u64 {
    RoundedRuns::new(&[], element_bytes, align).rounded(1)
}

/// A layout to try, before it is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LayoutProposal {
    pub arrangement: AtomArrangement,
    pub pads: Vec<PaddingMember>,
    pub changes: Vec<LayoutChange>,
}

impl LayoutProposal {
    /// Returns true if it spreads elements of arrays, or runs of them.
    pub fn is_of_elements(&self) -> bool {
        !self.arrangement.spreads.is_empty() || self.arrangement.run_align > 1
    }

    /// Returns the number of atoms that move.
    pub fn moved(&self) -> usize {
        self.changes.iter().map(LayoutChange::moved).sum()
    }
}

/// Today's shape, from which proposals start.
pub(crate) struct StartingShape<'a> {
    pub shape: &'a StructShape,
    /// Size of a cache line in bytes.
    pub line: u64,
    /// True if some objects are in memory of an allocator that knows nothing of the type's
    /// alignment.
    pub allocated: bool,
    /// True if a store to one line of a pair disturbs the other.
    pub paired: bool,
    /// Members that are arrays with elements of different contexts.
    pub arrays: &'a [UsedArray],
    /// True if objects are elements of an array, and contexts use runs of them.
    pub has_runs: bool,
}

/// Calls its second argument with all proposals of a kind of change.
type ProposalVisitor = fn(&StartingShape<'_>, &mut dyn FnMut(LayoutProposal));

/// All kinds of change; their order breaks ties.
const KINDS: [ProposalVisitor; 8] = [
    move_member::propose,
    align_type::propose,
    pad_type::propose,
    pad_member::propose,
    align_member::propose,
    move_align::propose,
    round_runs::propose,
    spread_elements::propose,
];

/// Calls `visit` with the proposals of all kinds, always in the same order. A large struct has so
/// many that they do not stay in memory together.
pub(crate) fn visit_proposals(ground: &StartingShape<'_>, visit: &mut dyn FnMut(LayoutProposal)) {
    KINDS.iter().for_each(|kind| kind(ground, visit));
}

impl StartingShape<'_> {
    /// Returns the atoms that may move: those with bytes that need not stay last.
    fn movable(&self) -> impl Iterator<Item = usize> + '_ {
        let atoms = self.shape.atoms.iter().enumerate();
        atoms
            .filter(|(_, atom)| atom.size > 0 && !atom.flexible)
            .map(|(index, _)| index)
    }
}
