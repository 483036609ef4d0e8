//! The C ABI engine: where the members of a struct go in another order.
//!
//! [`Abi::shape`] turns an [`Aggregate`](crate::Aggregate) into [`Atom`]s, the pieces that move as
//! one, with the size and alignment that explain the offsets seen. [`Shape::lay_out`] then places
//! them in any order, with alignments added by hand.
//!
//! The rules are those of the System V ABIs as GCC and Clang apply them; what differs by machine is
//! in [`Target`]. Debug information does not say `packed`, and leaves out unnamed bitfields; both
//! are inferred, see [`Shape::attributes`]. A packed struct whose members all happen to be
//! naturally placed cannot be told from an ordinary one.
//!
//! [`emit::Emitter`] writes an order as C, with every type that it holds by value: what a compiler
//! makes of that text is what the engine said (`examples/abi.rs` compares them over whole files).
//!
//! ```text
//! struct s { char a; int b:3; int c:7; long d; }   atoms: a | b c | d
//! order d, a, b c                                  d 0, a 8, b 72:3, c 75:7, size 16
//! ```

mod attribute;
mod bitfield;
mod class_head;
pub mod emit;
mod flatten;
mod infer;
mod place;
mod shape;
mod sizes;
mod target;

use std::ops::Range;

use crate::AggregateKind;

pub use attribute::LayoutAttribute;
pub(crate) use bitfield::Bitfield;
pub(crate) use class_head::ClassHead;
pub use sizes::AbiEngine;
pub use target::TargetAbi;

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
    /// A Rust enum: its alternatives share their bytes as the compiler likes.
    #[error("{name} is a Rust enum, whose alternatives the compiler places as it likes")]
    Variants {
        /// Name of the type.
        name: String,
    },
    /// A C++ class with a base class about which too little is known.
    #[error("{name} has the base class {base}: {why}")]
    Base {
        /// Name of the type.
        name: String,
        /// Name of the base class.
        base: String,
        /// What keeps its members from being laid out again.
        why: &'static str,
    },
    /// A C++ class with virtual base classes, whose places are not constant.
    #[error("{name} has virtual base classes, or other parts whose place is not known")]
    Virtual {
        /// Name of the type.
        name: String,
    },
    /// A bitfield is wider than its type (C++ pads such ones), or is no integer.
    #[error("bitfield {member} in {name} has {width_bits} bits, its type fewer")]
    Wide {
        /// Name of the type.
        name: String,
        /// Name of the member.
        member: String,
        /// Its width in bits.
        width_bits: u64,
    },
    /// More bytes without a member than unnamed bitfields are taken to fill.
    #[error("no rule of C explains {bytes} bytes before {member} in {name}")]
    Unexplained {
        /// Name of the type.
        name: String,
        /// Name of the member after them, or "the end".
        member: String,
        /// How many.
        bytes: u64,
    },
    /// Larger than any object can be.
    #[error("{name} claims {size} bytes")]
    Huge {
        /// Name of the type.
        name: String,
        /// Its size in bytes.
        size: u64,
    },
    /// Nothing in C has the size and alignment of a member's type.
    #[error("the type of {member} in {name} cannot be written in C: {why}")]
    NotC {
        /// Name of the type.
        name: String,
        /// Name of the member.
        member: String,
        /// What is wrong with it.
        why: String,
    },
}

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
