//! JSON documents: one type for each answer, with a name and a version.

pub mod advise;
pub mod check;
pub mod compare;
pub mod diff;
pub mod doctor;
pub mod error;
pub mod explain;
pub mod fleet;
pub(crate) mod judged_change;
pub mod kernel_verify;
pub mod kit;
pub mod machines;
mod probe;
pub mod rates;
pub mod report;
pub mod rules;
pub mod schema;
pub mod selection;
pub mod show;
pub mod suite;
pub(crate) mod time_shares;
pub mod tune;
pub mod verify;

use schemars::JsonSchema;
use serde::Serialize;

use crate::words::escape::json_text;

/// A JSON document. Its first key is `schema`, with the value [`Document::SCHEMA`].
pub trait Document: Serialize + JsonSchema {
    /// Name and version, such as `relayout/report/1`. A change of a key or of its meaning needs a
    /// new version.
    const SCHEMA: &'static str;

    /// Renders the document as indented JSON that ends in a line feed.
    ///
    /// # Errors
    /// Those of the serializer, which has none to give for these types.
    fn to_json(&self) -> Result<String, serde_json::Error> {
        let mut text = json_text(self, true)?;
        text.push('\n');
        Ok(text)
    }

    /// Renders the document as JSON in one line, without a line feed.
    ///
    /// # Errors
    /// Those of the serializer, which has none to give for these types.
    fn to_json_line(&self) -> Result<String, serde_json::Error> {
        json_text(self, false)
    }
}
