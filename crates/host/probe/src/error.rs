//! Errors of measuring a machine and of its machine file.

use std::path::PathBuf;

use relayout_files::{ErrorCategory, FileError};

use crate::file::MachineFileProblem;

/// An error that names the file and the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The machine file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The content of the machine file cannot be used.
    #[error("{} is not a machine file of `relayout probe`: {problem}; run `relayout probe` again", path.display())]
    MachineFile {
        /// The file.
        path: PathBuf,
        /// The defect.
        problem: MachineFileProblem,
    },
    /// The user stopped the measurement.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// Returns who has to act.
    pub fn category(&self) -> ErrorCategory {
        match self {
            Self::Interrupted => ErrorCategory::Interrupted,
            Self::File(_) | Self::MachineFile { .. } => ErrorCategory::Input,
        }
    }
}
