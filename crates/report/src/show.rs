//! Types of a file, as pahole's text, as columns and as JSON.

mod document;
mod packed;
mod text;

pub use document::{ShowDocument, TypeDocument, type_json};
pub use packed::{packable_text, packed_text};
pub use text::{layout_text, place_text, sizes_text};
