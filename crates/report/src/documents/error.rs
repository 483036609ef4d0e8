//! JSON document of an error.

use schemars::JsonSchema;
use serde::Serialize;

use crate::documents::Document;

/// Error that ended a command, as `--json` prints it on standard error.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ErrorDocument {
    /// Name and version of this document.
    schema: &'static str,
    /// What went wrong, with the file and the place.
    pub message: String,
    /// What to do about it; null if the message is all there is.
    pub hint: Option<String>,
    /// Exit code of the command: 2 for bad usage or input, 3 if something is missing here, 4 if the recorded program
    /// failed, 130 if the user interrupted it.
    pub code: u8,
}

impl Document for ErrorDocument {
    const SCHEMA: &'static str = "relayout/error/1";
}

impl ErrorDocument {
    /// Makes the document of a message and its remedy.
    ///
    /// ```
    /// use relayout_report::ErrorDocument;
    ///
    /// let remedy = "--force replaces it".to_owned();
    /// let error = ErrorDocument::new("out.relayout exists".to_owned(), Some(remedy), 2);
    /// assert_eq!(error.hint.as_deref(), Some("--force replaces it"));
    /// ```
    pub fn new(message: String, hint: Option<String>, code: u8) -> Self {
        Self {
            schema: Self::SCHEMA,
            message,
            hint,
            code,
        }
    }
}
