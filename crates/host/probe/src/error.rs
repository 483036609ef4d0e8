//! Errors of measuring a machine and of its machine file.

use std::path::PathBuf;

use relayout_files::FileError;
use relayout_machine::DescriptionProblem;
use relayout_messages::{ErrorCategory, UserFacingError};

use crate::schema::{FILE_BYTES_MAX, SCHEMA, SIMULATED_MACHINE_SCHEMA};

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
    /// The content of a file cannot be simulated.
    #[error("{} is no machine for simulated time: {problem}; {MACHINE_TO_CHANGE}", path.display())]
    SimulatedMachineFile {
        /// The file.
        path: PathBuf,
        /// The defect.
        problem: SimulatedMachineProblem,
    },
    /// The user stopped the measurement.
    #[error("interrupted")]
    Interrupted,
}

/// Remedy, at the end of a message.
const PROBE_AGAIN: &str = "run `relayout probe` again";
const MACHINE_TO_CHANGE: &str = "`relayout probe --machines NAME -o FILE` writes one to change";

impl Error {
    /// Returns the remedy.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::MachineFile { .. } => Some(PROBE_AGAIN),
            Self::SimulatedMachineFile { .. } => Some(MACHINE_TO_CHANGE),
            Self::File(_) | Self::Interrupted => None,
        }
    }

    /// Returns who has to act.
    pub fn category(&self) -> ErrorCategory {
        match self {
            Self::Interrupted => ErrorCategory::Interrupted,
            Self::File(_) | Self::MachineFile { .. } | Self::SimulatedMachineFile { .. } => {
                ErrorCategory::Input
            }
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

/// Reason for which a file is no machine for simulated time.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
pub enum SimulatedMachineProblem {
    /// The file is too long.
    #[error("it has more than {FILE_BYTES_MAX} bytes")]
    TooLong,
    /// The file is no JSON object.
    #[error("{0}")]
    Json(String),
    /// The file is another document.
    #[error("its schema is '{0}', neither '{SIMULATED_MACHINE_SCHEMA}' nor '{SCHEMA}'")]
    Schema(String),
    /// A field is missing.
    #[error("it has no field '{0}'")]
    Missing(&'static str),
    /// A field that no version has.
    #[error("it has an unknown field '{0}'")]
    UnknownField(String),
    /// A rule that does not exist.
    #[error("rules: there is no rule '{0}' (`relayout probe --rules` lists them)")]
    UnknownRule(String),
    /// A field with another content.
    #[error("{name}: {why}")]
    Field {
        /// Name of the field.
        name: &'static str,
        /// The reason.
        why: String,
    },
    /// A number that no machine has.
    #[error(transparent)]
    Number(#[from] DescriptionProblem),
    /// A file of `relayout probe` that is damaged.
    #[error(transparent)]
    Probe(#[from] MachineFileProblem),
    /// A file of `relayout probe` whose measurements do not suffice.
    #[error("`relayout probe` wrote it, and its '{0}' do not suffice: {1}")]
    ProbeLacks(&'static str, &'static str),
}

impl SimulatedMachineProblem {
    pub(crate) fn field(name: &'static str, why: String) -> Self {
        Self::Field { name, why }
    }
}
