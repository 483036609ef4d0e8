//! Layout assertions: reads `relayout.toml`, checks the types of a file against its rules, and
//! explains violations by the changes that moved a member.
//!
//! ```
//! let config = relayout_check::CheckConfig::parse(
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
//! - [`model`] defines the rules, and [`CheckConfig::parse`] reads them from TOML.
//! - [`applicable_sections`] selects the sections that apply to a file.
//! - [`LayoutCheck`] checks files. Each rule that does not hold becomes a [`Violation`].
//! - A violation names the changes that pushed a member, if a [`LayoutLock`] or another build gives
//!   the earlier layout.
//! - [`emit`] renders the rules as C assertions.
//! - `docs/check.md` describes the formats of the configuration and the lock file.
//!
//! The crate opens no files and reads no clock. The caller passes the contents of files, the
//! current date and the facts about each file.

#![cfg_attr(
    not(test),
    deny(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        clippy::print_stderr,
        clippy::print_stdout
    )
)]

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
pub use pattern::MemberPattern;
pub use record::{LockUpdate, RecentProfile, baseline_types, record_layouts};
pub use relayout_layout::TypePattern;
pub use relayout_layout::glob::GlobPattern;
pub use select::defines_type;
