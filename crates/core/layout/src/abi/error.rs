//! Errors of laying a type out again.
use crate::AggregateKind;

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
