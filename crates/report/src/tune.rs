//! Unattended runs: commit messages, a JSON document and text.

mod commit;
mod document;
mod effects;
mod text;

pub use commit::TuneWriter;
pub(crate) use document::{CountedDocument, counted_document};
pub use document::{TuneDocument, tune_document};
pub use text::render_text;
