//! Input of the document of an experiment with kernels.

use relayout_verify::judge::ExperimentOutcome;
use relayout_workflows::verify::kernel::KernelVerification;

/// A judged experiment with kernels.
#[derive(Clone, Copy, Debug)]
pub struct KernelContents<'a> {
    /// The experiment.
    pub verification: &'a KernelVerification,
    /// The source has the patch already.
    pub reverse: bool,
    /// Accesses after which a CPU paused.
    pub yield_every: u32,
}

impl<'a> KernelContents<'a> {
    pub(crate) fn outcome(&self) -> &'a ExperimentOutcome {
        &self.verification.judged.outcome
    }

    pub(crate) fn details(&self) -> &'a ExperimentOutcome {
        &self.verification.judged.details
    }
}
