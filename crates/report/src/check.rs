//! Outcome of a check: a JSON document, text, and the text of an updated lock file.
//!
//! [`crate::sarif`] renders it for code scanning.

mod document;
mod lock_text;
mod text;

pub use document::{CheckDocument, check_document};
pub use lock_text::render_lock_update;
pub use text::{render_text, warning_text};
