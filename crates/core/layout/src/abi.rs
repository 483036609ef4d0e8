//! C ABI engine: offsets of the members of a struct in any order.
//!
//! [`AbiEngine::shape`] splits an [`Aggregate`](crate::Aggregate) into [`LayoutAtom`]s, the parts
//! that move as one. Each has the size and alignment that explain the compiled offsets.
//! [`StructShape::lay_out`] places the atoms in any order, with alignments added by hand.
//!
//! The rules are those of the System V ABIs as GCC and Clang apply them. [`TargetAbi`] holds the
//! differences between machines. Debug information does not contain `packed` and unnamed bitfields,
//! so both are inferred: [`StructShape::attributes`]. A packed struct with naturally aligned
//! members looks like an ordinary one.
//!
//! [`emit::StructEmitter`] writes an arrangement as C, with every type that it holds by value.
//! `examples/abi.rs` compiles that text for every struct of a file, and compares the compiler's
//! offsets with the engine's.
//!
//! ```
//! use relayout_layout::abi::AbiEngine;
//! use relayout_layout::{Aggregate, Member, Type, TypeArena};
//!
//! let mut types = TypeArena::new();
//! let char = types.add(Type::Base { name: "char".to_owned(), size: 1 });
//! let long = types.add(Type::Base { name: "long".to_owned(), size: 8 });
//! let job = Aggregate {
//!     size: 24,
//!     members: vec![Member::new("a", char, 0), Member::new("b", long, 8), Member::new("c", char,
//! 16)],
//!     complete: true,
//!     ..Aggregate::default()
//! };
//! let shape = AbiEngine::new(&types).shape(&job)?;
//! let mut arrangement = shape.current_arrangement();
//! arrangement.order = vec![1, 0, 2];
//! assert_eq!(shape.lay_out(&arrangement).size, 16);
//! # Ok::<(), relayout_layout::abi::AbiError>(())
//! ```
//!
//! Adjacent bitfields are one atom:
//!
//! ```text
//! struct s { char a; int b:3; int c:7; long d; }   atoms: a | b c | d
//! order d, a, b c                                  d 0, a 8, b 72:3, c 75:7, size 16
//! ```

mod arrays;
mod attribute;
mod bitfield;
mod class_head;
pub mod emit;
mod error;
mod flatten;
mod infer;
mod layout;
mod pack;
mod place;
mod shape;
mod sizes;
mod target;

pub use arrays::{ArrayLevel, ElementSpread};
pub use attribute::LayoutAttribute;
pub use error::AbiError;
pub use layout::{
    AtomArrangement, AtomPlace, Hole, LayoutAtom, PaddingMember, StructLayout, StructShape,
};
pub use pack::PackingMove;
pub use sizes::AbiEngine;
pub use target::TargetAbi;
