//! Types of a file, as pahole's text, as columns and as JSON.

mod document;
mod text;

pub use document::{ShowDocument, TypeDocument, type_json};
pub use text::{layout_text, sizes_text};
