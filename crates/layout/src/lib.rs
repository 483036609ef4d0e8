//! What a type looks like in memory: types, members, offsets, holes, cache lines.
//!
//! Readers take bytes and never open files. See [`model`] for what they produce.

pub mod model;

pub use model::*;
