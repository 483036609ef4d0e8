//! The error that a user sees.

use std::collections::BTreeSet;
use std::error::Error as StdError;
use std::fmt;
use std::io;

use relayout_files::{ErrorCategory, InterruptFlag, ProblemReason};
use relayout_layout::suggestions;
use relayout_layout::word_lists::word_list;

/// Types that a message names.
const MEANT_MAX: usize = 5;

/// Failed command: what happened, the remedy, and who has to act.
///
/// It is made where the mistake is noticed, and gets a message at each step that adds a name or a place. Errors of
/// the crates below become one by `?`.
///
/// ```
/// use relayout_session::UserError;
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
        match suggestions::close_names(close) {
            Some(names) => Self::input(message).with_remedy(names + &list),
            None => Self::input(message + &list),
        }
    }

    /// Makes the error of a name that means several types of a profile.
    pub fn ambiguous_name<S: AsRef<str>>(name: &str, meant: &BTreeSet<S>) -> Self {
        let list = word_list(&Vec::from_iter(meant), MEANT_MAX);
        Self::input(format!(
            "{name} may be several types of the profile: {list}"
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

/// Takes over errors of other crates, with their remedy and category.
macro_rules! take_over {
    ($remedy:expr, $category:expr; $($error:ty),+ $(,)?) => {
        $(impl From<$error> for UserError {
            fn from(error: $error) -> Self {
                let remedy: fn(&$error) -> Option<String> = $remedy;
                let category: fn(&$error) -> ErrorCategory = $category;
                Self::from_typed(&error, remedy(&error), category(&error))
            }
        })+
    };
}

take_over!(
    |_| None, |_| ErrorCategory::Input;
    io::Error,
    serde_json::Error,
    relayout_files::FileError,
    relayout_layout::abi::AbiError,
    relayout_patch::EditRefusal,
    relayout_profile::merge::Error,
    rayon::ThreadPoolBuildError,
);

take_over!(
    |error| error.remedy(), |_| ErrorCategory::Input;
    relayout_check::Error,
    relayout_layout::Error,
    relayout_search::order::OrderError,
    relayout_verify::extract::ExtractError,
);

take_over!(
    |error| error.remedy().map(str::to_owned), |_| ErrorCategory::Input;
    relayout_profile::Error,
    relayout_resolve::Error,
    relayout_verify::metric::MetricError,
    relayout_verify::runs::RunsError,
);

take_over!(
    |error| error.remedy(), |error| error.category();
    relayout_files::Error,
    relayout_measure::Error,
    relayout_record::Error,
    relayout_toolchain::cc::CompilerError,
    relayout_toolchain::kernel_build::Error,
);

take_over!(
    |error| error.remedy().map(str::to_owned), |error| error.category();
    relayout_probe::Error,
    relayout_toolchain::compile::Error,
    relayout_toolchain::libraries::LibrariesError,
);

/// Reports an interrupt instead of the failure of a child process, which Ctrl-C reaches too.
pub(crate) fn or_interrupted<T, E: Into<UserError>>(
    result: Result<T, E>,
    interrupt: InterruptFlag,
) -> Result<T, UserError> {
    match result {
        Err(_) if interrupt.is_set() => Err(UserError::interrupted()),
        result => result.map_err(Into::into),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use relayout_profile::perf::ImportError;

    use super::*;

    /// Tests the message, the remedy and the category of an error that comes from another crate.
    #[track_caller]
    fn check(error: impl Into<UserError>, expect: (&str, Option<&str>, ErrorCategory)) {
        let error = error.into();
        let (message, remedy) = (error.chain_message(), error.chain_remedy());
        assert_eq!((&*message, remedy.as_deref(), error.category()), expect);
    }

    #[test]
    fn remedies_of_causes_come_along() {
        let imported = relayout_record::Error::Perf {
            path: PathBuf::from("perf.data"),
            source: ImportError::NoProcess {
                pid: 7,
                others: "8 and 9".to_owned(),
            },
        };
        check(
            imported,
            (
                "perf.data: no memory sample of process 7",
                Some("there are some of 8 and 9"),
                ErrorCategory::Input,
            ),
        );
        let debug = relayout_files::Error::Debug {
            path: PathBuf::from("a.out"),
            source: relayout_layout::Error::LinkTime,
        };
        check(
            relayout_record::Error::Files(debug),
            (
                "cannot read the debug information of a.out: an object of link-time optimisation (-flto) has no debug \
                 information yet",
                Some("give the linked program, or compile with -ffat-lto-objects"),
                ErrorCategory::Input,
            ),
        );
    }

    #[test]
    fn a_full_disk_is_the_environments() {
        let full = relayout_files::cannot("write", "a".as_ref())(io::ErrorKind::StorageFull.into());
        check(
            relayout_record::Error::from(full),
            (
                "cannot write a: no storage space",
                None,
                ErrorCategory::Environment,
            ),
        );
    }

    #[test]
    fn a_failed_boot_is_the_guests() {
        let failed = relayout_record::Error::Guest {
            why: "panicked".to_owned(),
            console: Vec::new(),
        };
        check(
            UserError::input("the kernel with the patch").caused_by(failed),
            (
                "the kernel with the patch: the guest panicked\nlast lines of its console: (nothing)",
                None,
                ErrorCategory::Guest,
            ),
        );
    }
}
