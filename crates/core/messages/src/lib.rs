//! Messages of the libraries to the user: the error that ends a command, and the steps and warnings before it.
//!
//! A step that notices a mistake makes a [`UserError`] with the message, the remedy, and who has to act. Errors of a
//! library that callers tell apart are an enum of its own, which becomes one by `?` if it is [`UserFacingError`].
//!
//! ```
//! use relayout_messages::{ErrorCategory, UserError};
//!
//! fn read_count(text: &str) -> Result<u32, UserError> {
//!     let invalid = |_| UserError::input(format!("'{text}' is no number")).with_remedy("give one, as in --count 3");
//!     text.parse().map_err(invalid)
//! }
//!
//! let error = read_count("three").unwrap_err();
//! assert_eq!(error.category(), ErrorCategory::Input);
//! assert_eq!(error.to_string(), "'three' is no number; give one, as in --count 3");
//! ```

#![cfg_attr(
    not(test),
    deny(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        clippy::print_stderr,
        clippy::print_stdout
    )
)]

mod close_names;
mod error_category;
mod problem_reason;
mod progress;
mod user_error;
mod user_facing_error;

pub use close_names::close_names;
pub use error_category::ErrorCategory;
pub use problem_reason::ProblemReason;
pub use progress::{RecordingProgress, SilentProgress};
pub use user_error::UserError;
pub use user_facing_error::UserFacingError;
