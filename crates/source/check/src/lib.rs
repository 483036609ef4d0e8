//! Assertions on layouts: what `relayout.toml` says, whether a file's types hold it, and what moved
//! where they do not.
//!
//! ```
//! let config = relayout_check::Config::parse(
//!     r#"
//!     [[type]]
//!     name = "mm_struct"
//!     size_max = 1408
//!     different_lines = [["mmap_lock", "mm_count"]]
//!     "#,
//! )?;
//! assert_eq!(config.sections[0].types[0].assertions.len(), 2);
//! # Ok::<(), relayout_check::ConfigError>(())
//! ```
//!
//! - [`model`] is what can be asserted, and [`Config::parse`] reads it from TOML;
//! - [`Check`] judges files: [`applied`] tells which sections apply to one, and what does not hold
//!   becomes a [`Violation`], with who pushed a member where a [`Lock`] or another build says where
//!   it was;
//! - `docs/check.md` describes the formats of configuration and lock file.
//!
//! Values in, values out: no files, no clock. Today's date, and what is to be known of a file, are
//! given by the caller.

mod applicability;
mod config;
pub mod date;
pub mod emit;
mod error;
mod evaluate;
mod explain;
mod facts;
pub mod hot;
mod known;
mod layout_check;
mod lock;
pub mod machine;
mod members;
pub mod model;
mod outcome;
pub mod pattern;
mod record;
mod select;
mod waive;

pub use applicability::{ApplicableSections, applicable_sections};
pub use config::{ConfigError, ConfigProblem};
pub use date::Date;
pub use error::Error;
pub use explain::{MemberChangeKind, PushingChange};
pub use facts::{FileFacts, KernelConfig};
pub use known::{KnownMember, KnownType};
pub use layout_check::{CheckSettings, LayoutCheck};
pub use lock::{LayoutLock, LockRecord, ProfileFacts, RecordedHotMember, RecordedType};
pub use machine::MachineArchitecture;
pub use model::{
    AsRecorded, BuildConfiguration, CheckConfig, ConfigPosition, KconfigOption, LayoutAssertion,
    LayoutRule, RuleId, RuleSection, SectionCondition, TypePresence, TypeRules, Waiver,
};
pub use outcome::{
    CheckOutcome, CheckWarning, ExpiredWaiver, SeenMember, Violation, WaivedViolation,
};
pub use pattern::{MemberPattern, TypePattern};
pub use record::{LockUpdate, RecentProfile, baseline_types, record_layouts};
pub use relayout_layout::glob::GlobPattern;
pub use select::defines_type;
