//! Errors of libraries that a user sees.

use std::error::Error as StdError;
use std::io;

use crate::ErrorCategory;

/// Error of a library whose text a user reads. It becomes a [`UserError`](crate::UserError) by `?`.
///
/// ```
/// use relayout_messages::{UserError, UserFacingError};
///
/// #[derive(Debug)]
/// struct NoMember;
///
/// impl std::fmt::Display for NoMember {
///     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
///         f.write_str("no member 'lokc'; close: lock")
///     }
/// }
///
/// impl std::error::Error for NoMember {}
///
/// impl UserFacingError for NoMember {
///     fn user_remedy(&self) -> Option<String> {
///         Some("close: lock".to_owned())
///     }
/// }
///
/// let error = UserError::from(NoMember);
/// assert_eq!(error.chain_message(), "no member 'lokc'");
/// assert_eq!(error.chain_remedy().as_deref(), Some("close: lock"));
/// ```
pub trait UserFacingError: StdError + 'static {
    /// Returns the remedy, which stands behind the last semicolon of the error's text or of its source's.
    fn user_remedy(&self) -> Option<String> {
        None
    }

    /// Returns who has to act.
    fn user_category(&self) -> ErrorCategory {
        ErrorCategory::Input
    }
}

impl UserFacingError for io::Error {}
impl UserFacingError for serde_json::Error {}
