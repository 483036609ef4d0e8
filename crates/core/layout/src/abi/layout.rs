//! Structs as atoms, and arrangements of the atoms.
use std::ops::Range;

use super::arrays::{ArrayLevel, ElementSpread};
use super::bitfield::Bitfield;

/// Part of a struct that moves as one: a member, a run of adjacent bitfields, or a whole anonymous
/// struct or union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutAtom {
    /// Members of the atom: indices into [`Aggregate::members`](crate::Aggregate::members).
    pub members: Range<usize>,
    /// Name of the first member, or of the first named member inside.
    pub name: String,
    /// Names of all members that move with it, including those of an anonymous struct or union.
    pub names: Vec<String>,
    /// `struct freelist_counters` for an unnamed member of a tagged struct or union: what stands in
    /// the source instead of the names inside. `None` for other atoms.
    pub tag: Option<String>,
    /// Compiled offset in bytes from the start of the struct.
    pub offset: u64,
    /// Size in bytes; for bitfields, the bytes that they touch in the compiled layout.
    pub size: u64,
    /// Alignment in bytes, of the member's type or by its attribute.
    pub align: u64,
    /// True for an array of unknown length, and for a struct that ends in one. It has to stay last.
    pub flexible: bool,
    /// Arrays that fill the atom, from the outermost inwards; empty where it is no array.
    pub arrays: Vec<ArrayLevel>,
    /// True for an anonymous struct or union. An alignment on it is one of its type: it pads the
    /// type, and does no more in a packed struct.
    pub(crate) align_on_type: bool,
    /// True if the struct is `packed`.
    pub(crate) type_packed: bool,
    /// True if this member is `packed`.
    pub(crate) packed: bool,
    /// `aligned(N)` on this member in bytes; 1 without.
    pub(crate) explicit_align: u64,
    /// Unnamed bitfields in front of the member, which move with it; empty for bitfields.
    pub(crate) unnamed_before: Vec<Bitfield>,
    /// Bitfields in order, including unnamed ones; empty for other atoms.
    pub(crate) bitfields: Vec<Bitfield>,
}

impl LayoutAtom {
    /// Returns true for a run of bitfields.
    pub fn is_bitfields(&self) -> bool {
        !self.bitfields.is_empty()
    }

    /// Names by which the source declares the atom, in order: its tag, or the names of its members.
    pub fn declared_names(&self) -> &[String] {
        match &self.tag {
            Some(tag) => std::slice::from_ref(tag),
            None => &self.names,
        }
    }

    /// Returns true if `name` is the tag of the atom or the name of a member in it.
    pub fn is_called(&self, name: &str) -> bool {
        self.tag.as_deref() == Some(name) || self.names.iter().any(|own| own == name)
    }
}

/// Struct split into atoms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructShape {
    /// Tag of the struct, or empty.
    pub name: String,
    /// Atoms in declaration order.
    pub atoms: Vec<LayoutAtom>,
    /// Alignment in bytes forced on the type; 1 without. The alignment of the type is the largest
    /// of this and its atoms' alignments.
    pub type_align: u64,
    /// True if the struct or one of its members is packed.
    pub packed: bool,
    /// Base classes of C++ in front of the atoms, which do not move.
    pub(crate) head: ClassHead,
    /// True if the struct is `packed`.
    pub(crate) type_packed: bool,
    /// True for a union: all atoms begin at 0.
    pub(crate) is_union: bool,
    /// Unnamed bitfields behind the last member; in a union, together in a struct.
    pub(crate) tail: Vec<Bitfield>,
    /// See [`TargetAbi::unnamed_bits_align`](super::TargetAbi::unnamed_bits_align).
    pub(crate) unnamed_bits_align: bool,
}

/// Order of the atoms, with alignments added by hand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AtomArrangement {
    /// Indices into [`StructShape::atoms`] in the order of declaration, every atom once.
    pub order: Vec<usize>,
    /// Alignment in bytes forced on each atom, by atom index; 1 without.
    pub align: Vec<u64>,
    /// Alignment in bytes forced on the type in addition to its own; 1 without.
    pub type_align: u64,
    /// Members that are arrays, with their elements at other distances; at most one for an atom.
    pub spreads: Vec<ElementSpread>,
    /// Alignment in bytes of the first element of each run of elements that one context uses, where
    /// objects are elements of an array; 1 without.
    pub run_align: u64,
}

/// Added member that nothing accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PaddingMember {
    /// Index in [`AtomArrangement::order`] of the atom behind it, or the length of the order.
    pub position: usize,
    /// Size in bytes.
    pub size: u64,
    /// Alignment in bytes.
    pub align: u64,
}

/// Offset of one atom in an arrangement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AtomPlace {
    /// First byte from the start of the struct.
    pub offset: u64,
    /// First byte behind the atom.
    pub end: u64,
    /// First bit of each bitfield from the start of the struct; empty for other atoms.
    pub bitfield_starts: Vec<u64>,
    /// First byte of each element from the start of the atom, where the elements of an array are
    /// spread; empty for other atoms.
    pub element_starts: Vec<u64>,
    /// Bytes of such an element; 0 for other atoms.
    pub element_bytes: u64,
}

/// Bytes between members that belong to none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hole {
    /// First byte from the start of the struct.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
}

/// Layout of a struct in an [`AtomArrangement`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructLayout {
    /// Offsets by atom index.
    pub places: Vec<AtomPlace>,
    /// `sizeof` in bytes.
    pub size: u64,
    /// Alignment of the type in bytes.
    pub align: u64,
    /// Holes between members by offset.
    pub holes: Vec<Hole>,
    /// Bytes behind the last member.
    pub padding: u64,
    /// See [`AtomArrangement::run_align`].
    pub run_align: u64,
}

/// Fixed part of a class in front of its own members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClassHead {
    /// Number of [`Aggregate::members`](crate::Aggregate::members) in it.
    pub member_count: usize,
    /// First byte that the class's own members may have.
    pub end: u64,
    /// Alignment in bytes; 0 without a head.
    pub align: u64,
}
