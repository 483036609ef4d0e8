//! The C ABI engine: where the members of a struct go in another order.
//!
//! [`Abi::shape`] turns an [`Aggregate`](crate::Aggregate) into [`Atom`]s, the pieces that move as
//! one, with the size and alignment that explain the offsets seen. [`Shape::lay_out`] then places
//! them in any order, with alignments added by hand.
//!
//! The rules are those of the System V ABI as GCC and Clang apply them (LP64: every scalar is
//! aligned to its size). Debug information does not say `packed`; it is inferred from members that
//! sit below their natural alignment. A packed struct whose members all happen to be naturally
//! placed cannot be told from an ordinary one.
//!
//! ```text
//! struct s { char a; int b:3; int c:7; long d; }   atoms: a | b c | d
//! order d, a, b c                                  d 0, a 8, b 72:3, c 75:7, size 16
//! ```

mod place;
mod shape;
mod sizes;

#[cfg(test)]
mod gcc_test;

use std::ops::Range;

use crate::AggregateKind;

pub use sizes::Abi;

/// Why a type cannot be laid out again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AbiError {
    /// Only a declaration is known.
    #[error("{name} is only declared here, its members are not known")]
    Incomplete {
        /// Name of the type.
        name: String,
    },
    /// Members of a union have no order.
    #[error("{name} is a {kind}, whose members all start at 0")]
    NotAStruct {
        /// Name of the type.
        name: String,
        /// What it is.
        kind: AggregateKind,
    },
    /// A member's size or alignment is not known.
    #[error("size of {member} in {name} is not known")]
    UnknownSize {
        /// Name of the type.
        name: String,
        /// Name of the member.
        member: String,
    },
    /// A member starts before the one declared before it ends: not a C struct.
    #[error(
        "{member} in {name} starts at byte {offset}, before the member declared before it ends"
    )]
    Overlap {
        /// Name of the type.
        name: String,
        /// Name of the member.
        member: String,
        /// Its offset in bytes.
        offset: u64,
    },
}

/// What moves as one: a member, a run of adjacent bitfields, or a whole anonymous struct or union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atom {
    /// The members it consists of: indices into [`Aggregate::members`](crate::Aggregate::members).
    pub members: Range<usize>,
    /// Name to call it by: of the (first) member, or of the first named member inside.
    pub name: String,
    /// Names of all members that move with it, those of an anonymous struct or union included.
    pub names: Vec<String>,
    /// Offset in bytes from the start of the struct as it was compiled.
    pub offset: u64,
    /// Size in bytes; for bitfields, the bytes they touch where they are now.
    pub size: u64,
    /// Alignment in bytes that the member has (its type's, or the attribute's on it).
    pub align: u64,
    /// An array of unknown length, or a struct that ends in one: has to stay last.
    pub flexible: bool,
    /// Bytes in front of it that no rule explains (an unnamed bitfield), kept where it goes.
    pub(crate) gap_before: u64,
    /// The bitfields, in order; empty for other atoms.
    pub(crate) bits: Vec<Bitfield>,
}

impl Atom {
    /// Whether it is a run of bitfields.
    pub fn is_bitfields(&self) -> bool {
        !self.bits.is_empty()
    }
}

/// One bitfield of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bitfield {
    /// Width in bits.
    pub width_bits: u64,
    /// Size of the declared type in bits.
    pub unit_bits: u64,
    /// Alignment of the declared type in bits.
    pub align_bits: u64,
    /// May cross a unit of its type (packed).
    pub crosses: bool,
    /// Unnamed bits in front of it.
    pub gap_bits: u64,
    /// A `:0` in front of it.
    pub fresh_unit: bool,
}

/// A struct taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Tag of the struct, or empty.
    pub name: String,
    /// Its atoms in declaration order.
    pub atoms: Vec<Atom>,
    /// Alignment in bytes forced on the type (1: none). The type's alignment is this or the
    /// largest of its atoms', whichever is more.
    pub type_align: u64,
    /// Some member sits below its natural alignment, so the struct was taken to be packed.
    pub packed: bool,
    /// Something in the layout is explained by no rule, and was kept as a gap.
    pub unexplained: bool,
    /// Bytes at the end that alignment does not explain.
    pub(crate) tail_gap: u64,
}

/// An order of the atoms, with alignments added by hand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Arrangement {
    /// Indices into [`Shape::atoms`], in the order of declaration; every atom once.
    pub order: Vec<usize>,
    /// Alignment in bytes forced on each atom (by atom index, not place); 1: none.
    pub align: Vec<u64>,
    /// Alignment in bytes forced on the type, beside what it has already; 1: none.
    pub type_align: u64,
}

/// Where one atom went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// First byte, from the start of the struct.
    pub offset: u64,
    /// First byte after it.
    pub end: u64,
    /// First bit of each bitfield from the start of the struct; empty for other atoms.
    pub bits: Vec<u64>,
}

/// Bytes that hold no member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hole {
    /// First byte, from the start of the struct.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
}

/// The outcome of laying out an [`Arrangement`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// By atom index.
    pub places: Vec<Place>,
    /// `sizeof` in bytes.
    pub size: u64,
    /// Alignment of the type in bytes.
    pub align: u64,
    /// Holes between members, by offset.
    pub holes: Vec<Hole>,
    /// Bytes after the last member.
    pub padding: u64,
}
