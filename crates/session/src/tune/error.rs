//! Errors of an unattended run.

use std::path::PathBuf;

use crate::compare::CompareError;
use crate::host_error::from_through;
use crate::verify::VerifyError;

/// Reason why a run cannot begin or go on. A change that fails is none: it is rejected, and the run
/// goes on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TuneError {
    /// No folder exists for the state of a run.
    #[error(
        "there is no folder for the state of the run: give one with --state DIR, or set \
         RELAYOUT_CACHE, XDG_CACHE_HOME or HOME"
    )]
    NoCacheFolder,
    /// The source has changes that are not committed.
    #[error(
        "{} has changes that are not committed: {files}; commit or stash them, so that each change \
         of the run can be told from yours",
        source_dir.display()
    )]
    DirtySource {
        /// Source.
        source_dir: PathBuf,
        /// First changed files.
        files: String,
    },
    /// The branch exists and is not of this run.
    #[error(
        "{} has a branch {branch} already; give another name with --branch",
        repository.display()
    )]
    BranchExists {
        /// Repository of the user.
        repository: PathBuf,
        /// Branch.
        branch: String,
    },
    /// The branch was changed, or another one has taken its name, since the run began.
    #[error(
        "{} has a branch {branch} without the changes that are kept; rename it with `git branch -m \
         {branch} NAME`, and give the same command again",
        repository.display()
    )]
    BranchChanged {
        /// Repository of the user.
        repository: PathBuf,
        /// Branch.
        branch: String,
    },
    /// The branch has no valid name.
    #[error("'{0}' is no name of a branch (git check-ref-format)")]
    BranchName(String),
    /// The folder holds a run with other settings.
    #[error(
        "{} holds a run with other settings ({different}); give another folder with --state, or \
         begin again with --restart",
        path.display()
    )]
    OtherSettings {
        /// State folder.
        path: PathBuf,
        /// Names of the settings that differ.
        different: String,
    },
    /// The folder holds something else.
    #[error(
        "{} is not empty and holds no run of `relayout tune`; give another folder with --state",
        .0.display()
    )]
    ForeignFolder(PathBuf),
    /// Another process uses the folder.
    #[error("another `relayout tune` runs in {}; wait for its end, or give another folder with --state", .0.display())]
    Locked(PathBuf),
    /// The run was begun on another machine.
    #[error(
        "this run was begun on another machine ({0}), whose measurements say nothing about this one; \
         go on there, or begin again with --restart"
    )]
    OtherMachine(String),
    /// A line of the journal is no step.
    #[error("{}, line {line}, is no step of a run; begin again with --restart", path.display())]
    Journal {
        /// Journal.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Cause.
        source: Box<serde_json::Error>,
    },
    /// A step of the journal has a result of another version.
    #[error(
        "{} has a result of another version of relayout for the step {step}; begin again with \
         --restart",
        path.display()
    )]
    JournalStep {
        /// Journal.
        path: PathBuf,
        /// Step.
        step: String,
        /// Cause.
        source: Box<serde_json::Error>,
    },
    /// A result cannot be written as JSON.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// Git failed.
    #[error("git {command} failed in {}: {output}", dir.display())]
    Git {
        /// Arguments.
        command: String,
        /// Folder.
        dir: PathBuf,
        /// Its message.
        output: String,
    },
    /// A command fails without any change.
    #[error("the {what} fails without any change; its output is in {}", log.display())]
    Base {
        /// `build`, `test`, or `recording of ...`.
        what: String,
        /// Log file.
        log: PathBuf,
        /// Cause.
        source: Box<crate::HostError>,
    },
    /// A benchmark is given twice.
    #[error("{0} is given twice; each benchmark or workload counts once")]
    BenchTwice(String),
    /// The measurement of a benchmark failed.
    #[error("cannot measure '{bench}'")]
    Measure {
        /// Benchmark.
        bench: String,
        /// Cause.
        source: Box<VerifyError>,
    },
    /// The recordings before and after a change cannot be compared.
    #[error("{0}")]
    Compare(#[from] Box<CompareError>),
    /// A kernel cannot be built or booted.
    #[error("{0}")]
    Verify(#[from] Box<VerifyError>),
    /// A profile, or a file of the kernel, failed.
    #[error("{0}")]
    Record(#[from] Box<crate::record::RecordError>),
    /// A profile or debug file failed.
    #[error("{0}")]
    Session(#[from] Box<crate::Error>),
    /// A process, file or setting failed.
    #[error("{0}")]
    Host(#[from] crate::HostError),
}

from_through!(
    TuneError, Host: relayout_files::Error,
    relayout_files::FileError,
    relayout_measure::Error,
    relayout_record::Error,
    relayout_toolchain::kernel_build::Error,
);

impl From<crate::Error> for TuneError {
    fn from(error: crate::Error) -> Self {
        Self::Session(error.into())
    }
}
