//! Structs as atoms, and arrangements of the atoms.
use std::ops::Range;

use super::bitfield::Bitfield;

/// What moves as one: a member, a run of adjacent bitfields, or a whole anonymous struct or union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutAtom {
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
    /// Has no name (a struct or union), so that an alignment on it is one of its type: it pads it,
    /// and in a packed struct does no more.
    pub(crate) align_on_type: bool,
    /// `packed` on the struct.
    pub(crate) type_packed: bool,
    /// `packed` on this member.
    pub(crate) packed: bool,
    /// `aligned(N)` on this member, in bytes; 1: none.
    pub(crate) explicit_align: u64,
    /// Unnamed bitfields in front of it, which move with it; empty for bitfields.
    pub(crate) unnamed_before: Vec<Bitfield>,
    /// The bitfields in order, unnamed ones included; empty for other atoms.
    pub(crate) bitfields: Vec<Bitfield>,
}

impl LayoutAtom {
    /// Whether it is a run of bitfields.
    pub fn is_bitfields(&self) -> bool {
        !self.bitfields.is_empty()
    }
}

/// A struct taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructShape {
    /// Tag of the struct, or empty.
    pub name: String,
    /// Its atoms in declaration order.
    pub atoms: Vec<LayoutAtom>,
    /// Alignment in bytes forced on the type (1: none). The type's alignment is this or the
    /// largest of its atoms', whichever is more.
    pub type_align: u64,
    /// The struct or one of its members is packed.
    pub packed: bool,
    /// What stands in front of the atoms and stays there: base classes of C++.
    pub(crate) head: ClassHead,
    /// `packed` on the struct.
    pub(crate) type_packed: bool,
    /// All atoms begin at 0.
    pub(crate) is_union: bool,
    /// Unnamed bitfields after the last member; in a union, together in a struct of their own.
    pub(crate) tail: Vec<Bitfield>,
    /// See [`Target::unnamed_bits_align`].
    pub(crate) unnamed_bits_align: bool,
}

/// An order of the atoms, with alignments added by hand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AtomArrangement {
    /// Indices into [`Shape::atoms`], in the order of declaration; every atom once.
    pub order: Vec<usize>,
    /// Alignment in bytes forced on each atom (by atom index, not place); 1: none.
    pub align: Vec<u64>,
    /// Alignment in bytes forced on the type, beside what it has already; 1: none.
    pub type_align: u64,
}

/// A new member that nothing accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PaddingMember {
    /// It comes before the atom at this place of [`Arrangement::order`], or at the end.
    pub position: usize,
    /// Its size in bytes.
    pub size: u64,
    /// Its alignment in bytes.
    pub align: u64,
}

/// Where one atom went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtomPlace {
    /// First byte, from the start of the struct.
    pub offset: u64,
    /// First byte after it.
    pub end: u64,
    /// First bit of each bitfield from the start of the struct; empty for other atoms.
    pub bitfield_starts: Vec<u64>,
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
pub struct StructLayout {
    /// By atom index.
    pub places: Vec<AtomPlace>,
    /// `sizeof` in bytes.
    pub size: u64,
    /// Alignment of the type in bytes.
    pub align: u64,
    /// Holes between members, by offset.
    pub holes: Vec<Hole>,
    /// Bytes after the last member.
    pub padding: u64,
}

/// The part of a class in front of its own members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClassHead {
    /// How many of [`Aggregate::members`] it is.
    pub member_count: usize,
    /// Where the class's own members may begin, in bytes.
    pub end: u64,
    /// Its alignment in bytes; 0 where there is none.
    pub align: u64,
}
