//! Profiles: the recorded accesses of contexts and sites to cache lines, their conflicts, ordered
//! bursts, and the uses of memory; and the file format that keeps them.
//!
//! A profile comes from the segments of a collector ([`segments`], [`program`]) or from hardware
//! samples ([`perf`]). Several recordings [`merge`](merge()) into one. [`encode`] and [`decode`]
//! convert it to and from Parquet tables. No function here starts a process or writes to a
//! terminal, and only [`store`] touches files; `scripts/tests/layers.sh` checks that.
//!
//! ```
//! use relayout_profile::{Addr, ContextId, LineRow, Profile, ProfileMeta, RecordedRun, RunId};
//!
//! let mut profile = Profile {
//!     meta: ProfileMeta {
//!         line_bytes: 64,
//!         contexts: 2,
//!         runs: vec![RecordedRun::default()],
//!         ..ProfileMeta::default()
//!     },
//!     ..Profile::default()
//! };
//! profile.lines.push(LineRow {
//!     run: RunId(0),
//!     line: Addr(0x1040),
//!     context: ContextId(1),
//!     reads: 10,
//!     writes: 0,
//!     read_transfers: 4,
//!     first_reads: None,
//!     write_transfers: 0,
//!     upgrades: 0,
//!     order_errors: None,
//! });
//! let files = relayout_profile::encode(&profile)?;
//! assert_eq!(relayout_profile::decode(files)?.transfers(), 4);
//! # Ok::<(), relayout_profile::FormatError>(())
//! ```

pub mod boot;
mod ids;
pub mod merge;
pub mod model;
mod page_content;
pub mod parquet;
pub mod perf;
pub mod program;
pub mod rates;
pub mod segments;
mod simulated_run;
pub mod store;
pub mod validate;

pub use ids::{Addr, ContextId, RunId, SiteId};
pub use merge::merge;
pub use model::*;
pub use page_content::{FILE_CONTENT, PIPE_CONTENT, is_plain_content};
pub use parquet::{FormatError, ProfileFiles, decode, decode_within, encode};
pub use simulated_run::*;
pub use store::{Error, WriteOptions, read, read_within, validate_target, write, write_unless};
