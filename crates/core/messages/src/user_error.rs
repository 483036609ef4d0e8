//! The error that a user sees.

use std::error::Error as StdError;
use std::fmt;
use std::io;

use crate::{ErrorCategory, ProblemReason, UserFacingError, close_names};

/// Failed command: what happened, the remedy, and who has to act.
///
/// It is made where the mistake is noticed, and gets a message at each step that adds a name or a place. Errors of
/// the crates below become one by `?`.
///
/// ```
/// use relayout_messages::UserError;
///
/// let cause = std::io::Error::from(std::io::ErrorKind::NotFound);
/// let error = UserError::input("cannot read the debug file vmlinux")
///     .with_remedy("give one with --debug FILE")
///     .caused_by(cause);
/// assert_eq!(error.to_string(), "cannot read the debug file vmlinux; give one with --debug FILE");
/// assert_eq!(
///     error.chain_text(),
///     "cannot read the debug file vmlinux; give one with --debug FILE: entity not found"
/// );
/// assert_eq!(error.chain_message(), "cannot read the debug file vmlinux: entity not found");
/// assert_eq!(error.chain_remedy().as_deref(), Some("give one with --debug FILE"));
/// ```
#[derive(Debug)]
pub struct UserError {
    reason: ProblemReason,
    category: ErrorCategory,
    cause: Option<Box<UserError>>,
}

impl UserError {
    /// Makes an error about input that cannot be used.
    pub fn input(message: impl Into<String>) -> Self {
        Self::new(ErrorCategory::Input, message)
    }

    /// Makes an error that somebody else than the author of the input has to mend.
    pub fn new(category: ErrorCategory, message: impl Into<String>) -> Self {
        Self {
            reason: ProblemReason::new(message),
            category,
            cause: None,
        }
    }

    /// Makes the error of a step that the user stopped.
    pub fn interrupted() -> Self {
        Self::new(ErrorCategory::Interrupted, "interrupted")
    }

    /// Returns a function for `map_err` that puts a message before an error.
    pub fn wrap<E: Into<Self>>(message: impl Into<String>) -> impl FnOnce(E) -> Self {
        move |cause| Self::input(message).caused_by(cause)
    }

    /// Makes the error of an unknown name. Close names are the remedy; `list` says where all names are.
    pub fn unknown_name(message: impl Into<String>, close: &[String], list: Option<&str>) -> Self {
        let message = message.into();
        let list = list.map_or(String::new(), |list| format!(" ({list})"));
        match close_names(close) {
            Some(names) => Self::input(message).with_remedy(names + &list),
            None => Self::input(message + &list),
        }
    }

    /// Makes the error of a name that means several types of a profile, which are listed.
    pub fn ambiguous_name(name: &str, listed: &str) -> Self {
        Self::input(format!(
            "{name} may be several types of the profile: {listed}"
        ))
        .with_remedy("give one of them")
    }

    /// Adds the remedy.
    #[must_use]
    pub fn with_remedy(self, remedy: impl Into<String>) -> Self {
        Self {
            reason: self.reason.with_remedy(remedy),
            ..self
        }
    }

    /// Adds the cause, which also tells who has to act.
    #[must_use]
    pub fn caused_by(self, cause: impl Into<Self>) -> Self {
        let cause = cause.into();
        Self {
            reason: self.reason,
            category: cause.category,
            cause: Some(cause.into()),
        }
    }

    /// Returns who has to act.
    pub fn category(&self) -> ErrorCategory {
        self.category
    }

    /// Returns the error and its causes, the outermost first.
    fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |error| error.cause.as_deref())
    }

    /// Returns the text of the error and of all its causes, in one sentence, with the remedies.
    pub fn chain_text(&self) -> String {
        join(self.chain().map(ToString::to_string), ": ")
    }

    /// Returns the messages of the error and of all its causes, without the remedies.
    pub fn chain_message(&self) -> String {
        join(self.chain().map(|error| error.reason.problem.clone()), ": ")
    }

    /// Returns the remedies of the error and of its causes; `None` if there is none.
    pub fn chain_remedy(&self) -> Option<String> {
        let remedies = self.chain().filter_map(|error| error.reason.remedy.clone());
        Some(join(remedies, "; ")).filter(|remedy| !remedy.is_empty())
    }

    /// Takes over an error of another crate and its causes. The remedy ends the text of the error or of a cause.
    fn from_typed(
        error: &(dyn StdError + 'static),
        remedy: Option<String>,
        category: ErrorCategory,
    ) -> Self {
        let reason = ProblemReason::from_sentence(error.to_string(), remedy.clone());
        let remedy_of_cause = remedy.filter(|_| reason.remedy.is_none());
        let cause = error.source();
        Self {
            reason,
            category: match is_disk_full(error) {
                true => ErrorCategory::Environment,
                false => category,
            },
            cause: cause.map(|cause| Self::from_typed(cause, remedy_of_cause, category).into()),
        }
    }
}

fn join(texts: impl Iterator<Item = String>, separator: &str) -> String {
    texts.collect::<Vec<String>>().join(separator)
}

/// A full disk is the environment's, in whatever step it is noticed.
fn is_disk_full(error: &(dyn StdError + 'static)) -> bool {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
    matches!(kind, Some(StorageFull | QuotaExceeded)) || error.source().is_some_and(is_disk_full)
}

/// The message with its remedy, without the causes.
impl fmt::Display for UserError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

impl StdError for UserError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        let cause = self.cause.as_deref()?;
        Some(cause)
    }
}

impl From<ProblemReason> for UserError {
    fn from(reason: ProblemReason) -> Self {
        Self {
            reason,
            category: ErrorCategory::Input,
            cause: None,
        }
    }
}

/// Takes over an error of a library, with its remedy, its category and its causes.
impl<E: UserFacingError> From<E> for UserError {
    fn from(error: E) -> Self {
        Self::from_typed(&error, error.user_remedy(), error.user_category())
    }
}
