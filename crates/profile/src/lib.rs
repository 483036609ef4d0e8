//! What was accessed: contexts, sites, lines, conflicts, bursts, and what memory was; the file
//! format that keeps it.
//!
//! Nothing here starts a process or talks to a terminal.

pub mod model;

pub use model::*;
