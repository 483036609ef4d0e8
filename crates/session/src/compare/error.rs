//! Errors of a comparison.

use std::io;
use std::path::PathBuf;

/// Profiles that cannot be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// A folder cannot be read.
    #[error("cannot read {}", path.display())]
    Folder {
        /// Folder.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// Nothing in the folder is a profile.
    #[error(
        "{} is no profile and holds none; `relayout record` writes a profile, `relayout suite` a \
         folder of them",
        .0.display()
    )]
    NoProfile(PathBuf),
    /// The profile holds samples instead of counts.
    #[error(
        "{} holds samples of accesses, which are no counts; record with `relayout record kernel` or \
         `relayout record run`",
        .0.display()
    )]
    Sampled(PathBuf),
    /// No recording of the profile marks operations.
    #[error(
        "{} marks no operations, so its transfers cannot be told per operation; call \
         relayout_operation() once for each unit of work (docs/programs.md)",
        .0.display()
    )]
    NoOperations(PathBuf),
    /// Every recording of the profile was cut off.
    #[error("{}: every recording was cut off before its end; record again", .0.display())]
    Incomplete(PathBuf),
    /// One side holds one workload of several builds.
    #[error(
        "{} holds recordings of {workload} on several builds ({first} and {second}); give a folder \
         or profile of one build",
        path.display()
    )]
    SeveralBuilds {
        /// Profile or folder of the side.
        path: PathBuf,
        /// Workload.
        workload: String,
        /// A build.
        first: String,
        /// Another.
        second: String,
    },
    /// The sides have no workload in common.
    #[error(
        "{} holds {old_workloads}, {} holds {new_workloads}: no workload is on both sides; record \
         one workload on both builds",
        old.display(),
        new.display()
    )]
    OtherWorkload {
        /// The old side.
        old: PathBuf,
        /// Its workloads.
        old_workloads: String,
        /// The new side.
        new: PathBuf,
        /// Its workloads.
        new_workloads: String,
    },
    /// A recording is on both sides.
    #[error(
        "{} and {} hold the same recording (seed {seed}): nothing is compared by comparing it with \
         itself",
        old.display(),
        new.display()
    )]
    SameRecording {
        /// Profile of the old side.
        old: PathBuf,
        /// Profile of the new side.
        new: PathBuf,
        /// Seed of the recording.
        seed: u64,
    },
    /// No type or variable of either side has the name.
    #[error("no type or variable of the recordings is called {name}{suggestion}")]
    UnknownSubject {
        /// Name.
        name: String,
        /// Sentence with similar names, or nothing.
        suggestion: String,
    },
    /// A profile or debug file cannot be read.
    #[error("{}: {source}", path.display())]
    Profile {
        /// Profile.
        path: PathBuf,
        /// Cause.
        source: Box<crate::Error>,
    },
    /// A step failed.
    #[error("{0}")]
    Session(#[from] crate::Error),
}
