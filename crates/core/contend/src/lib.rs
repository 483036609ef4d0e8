//! What hurts: which accesses of different contexts fight over a cache line, and what another
//! placement of the same bytes would do to them.
//!
//! - [`find`](find()) turns a profile into ranked [`Finding`]s; who lives at an address it asks an
//!   [`Identify`].
//! - [`replay`](mod@replay) runs the recorded accesses of one object through a coherence model with
//!   the object's bytes at other offsets.
//! - [`rates`] estimates coherence events from counts, where hardware sampled accesses and most are not known.
//! - [`throughput`] says what fewer waits are worth, on a machine that was measured.
//! - [`traces`] carves the accesses of one object out of a profile's bursts.
//!
//! Values in, values out: no files, no processes, no terminal.

mod adjacent;
mod detect;
mod find;
pub mod finding;
mod group;
pub mod identify;
mod line_join;
mod names;
mod ranks;
pub mod rates;
pub mod remedy;
pub mod replay;
mod source_cache;
pub mod throughput;
mod traces;

pub use find::{FindSettings, find, find_with};
pub use finding::{Finding, FindingKind, FindingSubject, Findings, ProfileTotals};
pub use identify::{AccessTarget, AddressNamer, SiteSource, TargetObject};
pub use remedy::Remedy;
pub use replay::{
    AccessCounts, BytePlacement, CoherenceTally, ContextWaits, LineScores, LineTally, LineWaits,
    ObjectTrace, PreparedTrace, RecordedPlacement, TraceAccess, replay, replay_lines,
};
pub use traces::{ObjectExtent, TraceIndex};
