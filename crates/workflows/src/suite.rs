//! Many recordings, described by a file: kernels, workloads, CPUs and seeds, or the benchmarks of
//! programs.
//!
//! A job makes one profile, and a document that says how it ended. Both are in the folder of the
//! suite under the job's name, and nothing else is shared, so any number of processes on any number
//! of machines can run jobs, and results are gathered by copying folders.

mod file;
mod folder;
mod jobs;
mod run;

use std::path::PathBuf;

use relayout_files::InterruptFlag;

use crate::verify::ExperimentProgress;

pub use file::{SuiteFile, WordsVerifier};
pub use folder::{JobResult, JobState, SuiteFolder};
pub use jobs::{JobShard, SuiteJob};
pub use run::{JobReport, SuiteOutcome, SuiteRequest, run_suite};

/// Tools of a suite.
pub struct SuiteTools<'t> {
    /// The command `relayout`, which records.
    pub relayout: PathBuf,
    /// Receiver of progress.
    pub progress: &'t dyn ExperimentProgress,
    /// Ctrl-C.
    pub interrupt: InterruptFlag,
}
