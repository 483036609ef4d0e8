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
mod error;
mod flatten;
mod infer;
mod layout;
mod place;
mod shape;
mod sizes;
mod target;

pub use attribute::LayoutAttribute;
pub use error::AbiError;
pub use layout::{
    AtomArrangement, AtomPlace, Hole, LayoutAtom, PaddingMember, StructLayout, StructShape,
};
pub use sizes::AbiEngine;
pub use target::TargetAbi;
