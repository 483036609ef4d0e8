//! Contention: cache lines that contexts fight over, and the effect of another placement of the
//! same bytes.
//!
//! - [`find`](find()) turns a profile into ranked [`Finding`]s. An [`AddressNamer`] tells the
//!   object at an address.
//! - [`replay`](mod@replay) runs the recorded accesses of an object through a coherence model with
//!   the object's bytes at other offsets.
//! - [`rates`] estimates coherence events from counts, where hardware sampled accesses and most are
//!   unknown.
//! - [`throughput`] predicts the throughput with fewer waits, on a machine that was measured.
//! - [`line_moves`](line_moves()) tells which accesses of the order with a clock moved a line, and when.
//! - [`count_traffic`] counts transfers by member in each recording alone.
//! - [`TraceIndex`] carves the accesses of an object out of a profile's bursts.
//!
//! The crate takes values and returns values: no files, no processes, no terminal.
//!
//! ```
//! use relayout_contend::{ObjectTrace, TraceAccess, replay};
//! use relayout_profile::AccessKind::{Read, Write};
//! use relayout_profile::{ContextId, SiteId};
//!
//! // Context 0 reads the first word again and again, context 1 stores to the word behind it.
//! let access = |context, offset, access| TraceAccess {
//!     context: ContextId(context),
//!     offset,
//!     size: 8,
//!     access,
//!     silent: None,
//!     site: SiteId(0),
//! };
//! let turn = [access(1, 8, Write), access(0, 0, Read)];
//! let trace = ObjectTrace {
//!     accesses: turn.into_iter().cycle().take(200).collect(),
//!     ..ObjectTrace::default()
//! };
//! let together = replay(&trace, 0, &|offset| offset, 64);
//! let apart = replay(&trace, 0, &|offset| 8 * offset, 64);
//! assert_eq!(together.read_transfers, 100);
//! assert_eq!(apart.transfers(), 0);
//! ```

#![cfg_attr(
    not(test),
    deny(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        clippy::print_stderr,
        clippy::print_stdout
    )
)]

mod adjacent;
mod detect;
mod element_runs;
mod elements;
mod find;
pub mod finding;
mod group;
mod hand_cut;
pub mod identify;
mod line_join;
mod line_moves;
mod lock_types;
mod names;
mod ranks;
pub mod rates;
pub mod remedy;
pub mod replay;
mod source_cache;
pub mod throughput;
mod traces;
mod traffic;
mod type_confidence;
mod unread_memory;

pub use element_runs::{ElementUses, RoundedRuns, are_runs};
pub use find::{FindSettings, find, find_with};
pub use finding::{
    ElementRun, Finding, FindingKind, FindingSubject, Findings, ProfileTotals, strip_type_tag,
};
pub use identify::{
    AccessTarget, AddressNamer, DeclaringFunction, ElementArray, SiteOperation, SiteSource,
    TargetObject,
};
pub use line_moves::{LineMove, line_moves};
pub use lock_types::lock_depth;
pub use remedy::Remedy;
pub use replay::{
    AccessCounts, BytePlacement, CoherenceTally, ContextWaits, LineScores, LineTally, LineWaits,
    ObjectTrace, PreparedTrace, RecordedPlacement, TraceAccess, replay, replay_lines,
};
pub use traces::{ObjectExtent, TraceIndex};
pub use traffic::{AccessMeeting, MemberTraffic, RecordingTraffic, SubjectTraffic, count_traffic};
pub use type_confidence::{CONFIDENCE_MIN_PERCENT, TypeConfidence};
pub use unread_memory::UnreadMemory;
