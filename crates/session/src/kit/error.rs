//! Errors of kits and results.

use std::path::PathBuf;

use relayout_verify::extract::ExtractError;

use crate::compare::CompareError;
use crate::host_error::from_through;
use crate::verify::VerifyError;

/// Reason why a kit cannot be made, or a result cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KitError {
    /// Something is in the place of the kit.
    #[error("{} is there already; give another folder, or remove it", .0.display())]
    Exists(PathBuf),
    /// A metric is none.
    #[error("{0}")]
    Metrics(String),
    /// The document predicts nothing.
    #[error("{} is no advice to keep with a kit: {why}; `relayout advise --json` writes one", path.display())]
    Advice {
        /// Document.
        path: PathBuf,
        /// Defect.
        why: String,
    },
    /// The program of a command is no file.
    #[error(
        "cannot pack the program of '{command}': {program} is no file; give its path, as in ./{program}"
    )]
    Program {
        /// Command.
        command: String,
        /// Its program.
        program: String,
    },
    /// The file is no result.
    #[error("{}: {why}", path.display())]
    NoResult {
        /// File.
        path: PathBuf,
        /// Defect, and the remedy.
        why: String,
    },
    /// A line of the result cannot be read.
    #[error("{}, line {line}: {why}", path.display())]
    Line {
        /// File.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Defect.
        why: String,
    },
    /// A start gave no number of a metric.
    #[error("{}, the start of '{side}' at line {line}", path.display())]
    Metric {
        /// File.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Name of the side.
        side: &'static str,
        /// Cause.
        source: Box<ExtractError>,
    },
    /// A line of the ledger is no entry.
    #[error("{}, line {line}, is no entry of a ledger", path.display())]
    Ledger {
        /// File.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Cause.
        source: Box<serde_json::Error>,
    },
    /// A document cannot be written as JSON.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// The recordings of both builds cannot be compared.
    #[error("{0}")]
    Compare(#[from] Box<CompareError>),
    /// The builds cannot be made.
    #[error(transparent)]
    Verify(#[from] Box<VerifyError>),
    /// A process, file or setting failed.
    #[error("{0}")]
    Host(#[from] crate::HostError),
}

from_through!(
    KitError, Host: relayout_files::Error,
    relayout_files::FileError,
    relayout_measure::Error,
);

impl From<VerifyError> for KitError {
    fn from(error: VerifyError) -> Self {
        Self::Verify(error.into())
    }
}
