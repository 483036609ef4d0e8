//! JSON document of an error.

use schemars::JsonSchema;
use serde::Serialize;

use crate::document::Document;

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

/// Separator between a message and its remedy.
const SEPARATOR: &str = "; ";

impl ErrorDocument {
    /// Makes the document of a message. The remedy stands behind the last semicolon that is not within quotes; a message
    /// of several lines ends with what another program wrote, and has none.
    ///
    /// ```
    /// use relayout_report::ErrorDocument;
    ///
    /// let error = ErrorDocument::new("out.relayout exists; --force replaces it", 2);
    /// assert_eq!(error.message, "out.relayout exists");
    /// assert_eq!(error.hint.as_deref(), Some("--force replaces it"));
    /// ```
    pub fn new(text: &str, code: u8) -> Self {
        let (message, hint) = match remedy_start(text) {
            Some(at) => (&text[..at], Some(text[at + SEPARATOR.len()..].to_owned())),
            None => (text, None),
        };
        Self::with_hint(message.to_owned(), hint, code)
    }

    /// Makes the document of a message and its remedy.
    pub fn with_hint(message: String, hint: Option<String>, code: u8) -> Self {
        Self {
            schema: Self::SCHEMA,
            message,
            hint,
            code,
        }
    }
}

/// Returns the place of the separator before the remedy, in bytes from the start of the message.
fn remedy_start(text: &str) -> Option<usize> {
    if text.contains('\n') {
        return None;
    }
    let mut quote: Option<char> = None;
    let mut last = None;
    let mut before = ' ';
    for (at, character) in text.char_indices() {
        match quote {
            Some(open) if character == open && closes_quote(&text[at + open.len_utf8()..]) => {
                quote = None
            }
            // The apostrophe of "the file's" follows a letter.
            None if matches!(character, '\'' | '`') && !before.is_alphanumeric() => {
                quote = Some(character)
            }
            None if text[at..].starts_with(SEPARATOR) => last = Some(at),
            _ => {}
        }
        before = character;
    }
    last
}

/// Tells whether a quote mark ends a quotation, by the text behind it.
fn closes_quote(rest: &str) -> bool {
    !rest.starts_with(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn splits(text: &str, message: &str, hint: Option<&str>) {
        let document = ErrorDocument::new(text, 2);
        assert_eq!(
            (&*document.message, document.hint.as_deref()),
            (message, hint)
        );
    }

    #[test]
    fn remedies() {
        splits(
            "the file's end is cut off; record again",
            "the file's end is cut off",
            Some("record again"),
        );
        splits(
            "a folder; b; give another",
            "a folder; b",
            Some("give another"),
        );
        splits(
            "'echo no; exit 2' failed; try 'x; y'",
            "'echo no; exit 2' failed",
            Some("try 'x; y'"),
        );
        splits("'don't; do' failed", "'don't; do' failed", None);
        splits(
            "cannot build; it says:\nno rule; stop",
            "cannot build; it says:\nno rule; stop",
            None,
        );
        splits("nothing", "nothing", None);
    }
}
