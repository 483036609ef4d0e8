//! What was accessed: contexts, sites, lines, conflicts, bursts, and what memory was; the file
//! format that keeps it.
//!
//! Nothing here starts a process or talks to a terminal. Only [`store`] touches files, which
//! `scripts/tests/layers.sh` checks.

mod ids;
pub mod merge;
pub mod model;
pub mod parquet;
pub mod perf;
pub mod program;
pub mod segments;
#[allow(clippy::disallowed_methods, clippy::disallowed_types)]
pub mod store;
pub mod validate;

pub use ids::{Addr, ContextId, RunId, SiteId};
pub use merge::merge;
pub use model::*;
pub use parquet::{FormatError, ProfileFiles, decode, encode};
pub use store::{Error, WriteOptions, read, validate_target, write};
