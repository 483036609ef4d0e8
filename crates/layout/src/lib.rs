//! What a type looks like in memory: types, members, offsets, holes, cache lines.
//!
//! Readers take bytes and never open files. See [`model`] for what they produce.

pub mod abi;
mod about;
pub mod btf;
pub mod catalog;
mod check;
pub mod close;
pub mod diff;
pub mod dwarf;
mod elf;
mod error;
pub mod glob;
pub mod links;
mod locate;
pub mod model;
pub mod pahole;
pub mod spelled;
mod spelling;
mod types;

pub use about::About;
pub use check::check_bytes;
pub use error::Error;
pub use model::*;
