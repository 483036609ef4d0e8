//! Failures of a child process that Ctrl-C caused.

use relayout_files::InterruptFlag;
use relayout_messages::UserError;

/// Reports an interrupt instead of the failure of a child process, which Ctrl-C reaches too.
pub(super) fn or_interrupted<T, E: Into<UserError>>(
    result: Result<T, E>,
    interrupt: InterruptFlag,
) -> Result<T, UserError> {
    match result {
        Err(_) if interrupt.is_set() => Err(UserError::interrupted()),
        result => result.map_err(Into::into),
    }
}
