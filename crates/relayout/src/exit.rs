//! Exit codes, and errors of the command line.

use std::process::ExitCode;

use relayout_messages::ErrorCategory;
use relayout_report::ErrorDocument;

use crate::print::print_error_document;

/// Exit status of the command. The numbers are part of its interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitStatus {
    /// Done.
    Done = 0,
    /// The thing asked about failed: an assertion does not hold, layouts differ.
    Failed = 1,
    /// Wrong usage or bad input.
    Input = 2,
    /// The environment lacks something, which was named.
    Environment = 3,
    /// The recorded guest failed; what was recorded is kept.
    Guest = 4,
    /// It cannot be told; `git bisect run` passes the commit over.
    Untestable = 125,
    /// The setup is broken; `git bisect run` ends.
    BrokenSetup = 128,
    /// Stopped by the user.
    Interrupted = 130,
}

impl From<ExitStatus> for ExitCode {
    fn from(exit: ExitStatus) -> Self {
        Self::from(exit as u8)
    }
}

impl ExitStatus {
    /// Returns [`Failed`](Self::Failed) if the thing asked about failed.
    pub fn failed_if(has_failed: bool) -> Self {
        if has_failed { Self::Failed } else { Self::Done }
    }
}

impl From<ErrorCategory> for ExitStatus {
    fn from(category: ErrorCategory) -> Self {
        match category {
            ErrorCategory::Input => Self::Input,
            ErrorCategory::Environment => Self::Environment,
            ErrorCategory::Guest => Self::Guest,
            ErrorCategory::Interrupted => Self::Interrupted,
        }
    }
}

/// Prints help, a version, or what is wrong with the command line, as a document if the user wants JSON.
pub fn end_with_usage_error(error: &clap::Error, as_document: bool) -> ExitCode {
    if !error.use_stderr() || !as_document {
        // A closed pipe is no error.
        let _ = error.print();
        return match error.use_stderr() {
            true => ExitStatus::Input.into(),
            false => ExitStatus::Done.into(),
        };
    }
    print_error_document(&usage_document(&error.render().to_string()));
    ExitStatus::Input.into()
}

/// Makes a document of what clap says: paragraphs with the error, tips, and the usage.
fn usage_document(text: &str) -> ErrorDocument {
    let mut paragraphs = text.split("\n\n").map(str::trim);
    let message = paragraphs.next().unwrap_or_default();
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let tips: Vec<&str> = paragraphs
        .take_while(|paragraph| !paragraph.starts_with("Usage:"))
        .collect();
    let hint = match tips.is_empty() {
        true => "--help describes the command".to_owned(),
        false => tips.join("; ").replace("tip: ", ""),
    };
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    ErrorDocument::new(message, Some(hint), ExitStatus::Input as u8)
}
