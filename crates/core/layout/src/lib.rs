//! What a type looks like in memory: types, members, offsets, holes, cache lines.
//!
//! Readers take bytes and never open files. See [`model`] for what they produce.

pub mod abi;
pub mod btf;
pub mod catalog;
pub mod diff;
pub mod dwarf;
mod elf;
mod elf_identity;
mod error;
mod exercise;
pub mod glob;
pub mod links;
mod locate;
pub mod model;
pub mod pahole;
mod spelling;
pub mod suggestions;
pub mod type_words;
mod types;

pub use elf_identity::ElfIdentity;
pub use error::Error;
pub use exercise::exercise_readers;
pub use model::*;
