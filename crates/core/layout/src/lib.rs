//! What a type looks like in memory: types, members, offsets, holes, cache lines.
//!
//! Readers take bytes and never open files. See [`model`] for what they produce.

pub mod abi;
pub mod btf;
pub mod catalog;
pub mod dwarf;
mod elf;
mod elf_identity;
mod error;
pub mod glob;
pub mod links;
mod locate;
mod locate_path;
pub mod model;
mod same_definition;
mod spelling;
pub mod suggestions;
pub mod type_words;
mod types;
mod unused;

pub use elf_identity::ElfIdentity;
pub use error::Error;
pub use locate_path::{ArrayElements, LocatedMember};
pub use model::*;
pub use types::{NESTING_MAX, element_count};
pub use unused::{AggregateGaps, MemberGap};
