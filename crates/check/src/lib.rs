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
//! - the format is described in `docs/check.md`.
//!
//! Values in, values out: no files, no clock. Today's date, and what is to be known of a file, are
//! given by the caller.

mod config;
pub mod date;
pub mod machine;
pub mod model;
pub mod pattern;

pub use config::{ConfigError, Problem};
pub use date::Date;
pub use machine::Machine;
pub use model::{
    AsRecorded, Assertion, Condition, Config, Configuration, Has, Kconfig, Position, Rule, RuleId,
    Section, TypeRules, Waiver,
};
pub use pattern::{Glob, MemberPattern, TypePattern};
