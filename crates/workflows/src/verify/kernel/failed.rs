//! Failures of an experiment with kernels.

use relayout_messages::UserError;

/// Step that fails because of the patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchedStep {
    /// A kernel does not compile.
    Build,
    /// The kernel with the patch does not boot, or fails in its workload.
    Boot,
}

/// Experiment that did not come to its end.
#[derive(Debug)]
pub struct FailedVerification {
    /// Error.
    pub error: UserError,
    /// Step that the patch made fail; `None` if something else is at fault.
    pub failed_step: Option<PatchedStep>,
}

impl<E: Into<UserError>> From<E> for FailedVerification {
    fn from(error: E) -> Self {
        Self {
            error: error.into(),
            failed_step: None,
        }
    }
}
