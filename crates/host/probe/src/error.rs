//! Errors of measuring a machine and of its machine file.

use std::path::PathBuf;

use relayout_files::FileError;
use relayout_messages::{ErrorCategory, UserFacingError};

use crate::schema::{FILE_BYTES_MAX, SCHEMA};

/// An error that names the file and the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The machine file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The content of the machine file cannot be used.
    #[error("{} is not a machine file of `relayout probe`: {problem}; {PROBE_AGAIN}", path.display())]
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

/// Remedy, at the end of a message.
const PROBE_AGAIN: &str = "run `relayout probe` again";

impl Error {
    /// Returns the remedy, which stands behind the last semicolon of the message.
    pub fn remedy(&self) -> Option<&'static str> {
        matches!(self, Self::MachineFile { .. }).then_some(PROBE_AGAIN)
    }

    /// Returns who has to act.
    pub fn category(&self) -> ErrorCategory {
        match self {
            Self::Interrupted => ErrorCategory::Interrupted,
            Self::File(_) | Self::MachineFile { .. } => ErrorCategory::Input,
        }
    }
}

impl UserFacingError for Error {
    fn user_remedy(&self) -> Option<String> {
        self.remedy().map(str::to_owned)
    }

    fn user_category(&self) -> ErrorCategory {
        self.category()
    }
}

/// Defect of a machine file.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum MachineFileProblem {
    /// The file is too long.
    #[error("it has more than {FILE_BYTES_MAX} bytes")]
    TooLong,
    /// The file is not JSON, or keys are missing.
    #[error("{0}")]
    Json(String),
    /// The file is another document.
    #[error("its schema is '{0}', not '{SCHEMA}'")]
    OtherSchema(String),
    /// A later version.
    #[error("it was written by a newer relayout (schema {0}, this one reads {SCHEMA})")]
    NewerVersion(String),
    /// A number that cannot be.
    #[error("{key} is {found}; {allowed}")]
    InvalidNumber {
        /// Key of the number.
        key: &'static str,
        /// The number.
        found: String,
        /// The numbers that are allowed.
        allowed: &'static str,
    },
}
