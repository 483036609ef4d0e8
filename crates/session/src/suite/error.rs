//! Errors of suites.

use std::path::PathBuf;

use crate::host_error::from_through;

/// Reason why a suite cannot be run. A recording that fails is none: it is kept as failed, and the
/// next one begins.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SuiteError {
    /// The file describes no suite.
    #[error(
        "{}{}: {}",
        .0.path.display(),
        .0.place.map_or(String::new(), |(line, column)| format!(":{line}:{column}")),
        .0.why
    )]
    Invalid(Box<InvalidSuite>),
    /// There is no such file.
    #[error("there is no {}; `relayout suite --help` shows what it has to say", .0.display())]
    NoFile(PathBuf),
    /// The suite has no such job.
    #[error("{} has no job '{job}'{suggestion}; --list names all", path.display())]
    NoJob {
        /// File of the suite.
        path: PathBuf,
        /// Name, as given.
        job: String,
        /// `; did you mean ...?`, or empty.
        suggestion: String,
    },
    /// A process, file or setting failed.
    #[error("{0}")]
    Host(#[from] crate::HostError),
}

/// Defect of a suite's file.
#[derive(Debug)]
pub struct InvalidSuite {
    /// File.
    pub path: PathBuf,
    /// Line and column, from 1, if the defect has a place.
    pub place: Option<(usize, usize)>,
    /// Defect, and the remedy.
    pub why: String,
}

from_through!(
    SuiteError, Host: relayout_files::Error,
    relayout_files::FileError,
);
