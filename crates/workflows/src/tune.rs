//! The whole loop, unattended: record, choose a type, propose a layout, patch, build, test, record
//! again, measure, keep or reject, until nothing is left that is worth it or a limit is reached.
//!
//! The user's source is only read. All work is done in a state folder, which holds a clone of the
//! source, the profiles, and a journal of finished steps. A run that was stopped, in any way, goes
//! on with the first step that is not in the journal, and ends the same way.
//!
//! A change is kept if the main benchmark gains and no other benchmark loses: measured on this
//! machine for programs, counted under QEMU for kernels. Kernels on a machine in simulated time are kept by operations a
//! second where all draws of its rules agree, and counts decide elsewhere.

mod count;
mod journal;
mod kernel;
mod outcome;
mod predicted_effect;
mod program;
mod proposal;
mod ranking;
mod recorded;
mod repository;
mod settings;
mod state;
mod tuner;

use std::path::PathBuf;

use relayout_advice::ResolvedProfile;
use relayout_files::InterruptFlag;
use relayout_probe::MachineIdentity;
use relayout_session::advise::PatchedType;

use crate::verify::ExperimentProgress;

pub(crate) use count::counted_effect;
pub use outcome::{
    ChangeDescription, ChangeFate, ChangeProposal, RankedType, TriedChange, TuneEnding,
    TuneOutcome, TunedBranch,
};
pub use predicted_effect::PredictedEffect;
pub use ranking::SHARE_MIN;
pub use settings::{TuneLimits, TuneSettings, TuneTarget, TunedKernel, TunedMachine, TunedProgram};
pub use tuner::{TuneRequest, tune};

/// Writer of the words that a run puts into commits.
pub trait ChangeWriter {
    /// Describes the patch of a type; `None` without a patch.
    fn describe_patch(
        &self,
        resolved: &ResolvedProfile<'_>,
        patched: &PatchedType<'_>,
    ) -> Option<ChangeDescription>;

    /// Returns the message of the commit that keeps a change.
    fn commit_message(
        &self,
        change: &TriedChange,
        settings: &TuneSettings,
        machine: &MachineIdentity,
    ) -> String;
}

/// Tools of a run.
pub struct TuneTools<'t> {
    /// The command `relayout`, which records and compiles.
    pub relayout: PathBuf,
    /// Writer of commits.
    pub writer: &'t dyn ChangeWriter,
    /// Receiver of progress.
    pub progress: &'t dyn ExperimentProgress,
    /// Ctrl-C.
    pub interrupt: InterruptFlag,
}
