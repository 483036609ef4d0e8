//! Errors of the C ABI engine.
use relayout_messages::UserFacingError;

use crate::AggregateKind;

/// Reason why a type cannot be laid out again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AbiError {
    /// The file only declares the type.
    #[error("{name} is only declared here, its members are not known")]
    Incomplete {
        /// Name of the type.
        name: String,
    },
    /// The type is a union, whose members have no order.
    #[error("{name} is a {kind}, whose members all start at 0")]
    NotAStruct {
        /// Name of the type.
        name: String,
        /// Keyword of the type.
        kind: AggregateKind,
    },
    /// The size or alignment of a member is not known.
    #[error("the size of {} in {name} is not known", member_words(member))]
    UnknownSize {
        /// Name of the type.
        name: String,
        /// Name of the member.
        member: String,
    },
    /// A member starts before the end of the member declared before it. C structs do not.
    #[error(
        "{member} in {name} starts at byte {offset}, before the member declared before it ends"
    )]
    Overlap {
        /// Name of the type.
        name: String,
        /// Name of the member.
        member: String,
        /// Offset of the member in bytes.
        offset: u64,
    },
    /// The type is a Rust enum. The compiler is free to place its alternatives.
    #[error("{name} is a Rust enum, whose alternatives the compiler places as it likes")]
    Variants {
        /// Name of the type.
        name: String,
    },
    /// The class has a base class that debug information does not describe well enough.
    #[error("{name} has the base class {base}: {why}")]
    Base {
        /// Name of the type.
        name: String,
        /// Name of the base class.
        base: String,
        /// Property of the base class that prevents a new layout.
        why: &'static str,
    },
    /// The class has virtual base classes, whose offsets are not constant.
    #[error("{name} has virtual base classes, or other parts whose place is not known")]
    Virtual {
        /// Name of the type.
        name: String,
    },
    /// The bitfield is wider than its type, as C++ allows, or its type is no integer.
    #[error("bitfield {member} in {name} has {width_bits} bits, its type fewer")]
    Wide {
        /// Name of the type.
        name: String,
        /// Name of the member.
        member: String,
        /// Width of the bitfield in bits.
        width_bits: u64,
    },
    /// Unused bytes before a member that no unnamed bitfields explain.
    #[error("no rule of C explains {bytes} bytes before {member} in {name}")]
    Unexplained {
        /// Name of the type.
        name: String,
        /// Name of the member behind them, or "the end".
        member: String,
        /// Number of bytes.
        bytes: u64,
    },
    /// The type is larger than any object can be.
    #[error("{name} claims {size} bytes")]
    Huge {
        /// Name of the type.
        name: String,
        /// Size of the type in bytes.
        size: u64,
    },
    /// No C type has the size and alignment of a member's type.
    #[error("the type of {member} in {name} cannot be written in C: {why}")]
    NotC {
        /// Name of the type.
        name: String,
        /// Name of the member.
        member: String,
        /// Reason.
        why: String,
    },
}

impl UserFacingError for AbiError {}

/// Words for a member: its name, if it has one.
fn member_words(name: &str) -> &str {
    match name {
        "" => "an unnamed member",
        name => name,
    }
}
