//! Comparisons of recordings: a JSON document, text and mail.

mod change_words;
mod document;
mod mail;
mod text;

pub use document::{CompareDocument, compare_document};
pub use mail::render_mail;
pub use text::render_text;
