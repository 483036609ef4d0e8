//! Errors of files and of programs that are missing.

use std::path::PathBuf;

use relayout_messages::{ErrorCategory, UserFacingError};

use crate::{DISTRIBUTION, FileError, system_package};

/// An error that names the file or program, and the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The debug file cannot be used.
    #[error("cannot read the debug information of {}", path.display())]
    Debug {
        /// The debug file.
        path: PathBuf,
        /// The decoder's error.
        #[source]
        source: relayout_layout::Error,
    },
    /// The debug information was split off, and no searched path has it.
    #[error(
        "no debug information: neither DWARF (.debug_info) nor BTF (.BTF), and no debug file of it \
         was found{}; {DEBUG_PACKAGE}",
        searched_paths(missing, other_builds)
    )]
    NoDebugFile {
        /// Searched paths without a file.
        missing: Vec<PathBuf>,
        /// Debug files of other builds that were found.
        other_builds: Vec<PathBuf>,
    },
    /// A program, library or file is not installed.
    #[error("{missing} is missing{}", in_parentheses(remedy.as_deref()))]
    Missing {
        /// The program or file.
        missing: String,
        /// The package that has it, or another remedy.
        remedy: Option<String>,
    },
    /// A program that a step runs is not installed.
    #[error(
        "'{program}' is needed to {purpose} and is not installed ({DISTRIBUTION} package {})",
        system_package(program)
    )]
    NoProgram {
        /// The program.
        program: &'static str,
        /// The step, as an infinitive: `apply patches`.
        purpose: &'static str,
    },
    /// Others could have changed a file that would be run.
    #[error(
        "{} belongs to user {owner} and has the mode {mode:o}, so that others can change it, and relayout \
         would run the change: make it your own, and 'chmod -R go-w' it",
        path.display()
    )]
    Untrusted {
        /// The file or folder.
        path: PathBuf,
        /// Number of its owner.
        owner: u32,
        /// Its permissions.
        mode: u32,
    },
    /// The user stopped the step.
    #[error("interrupted")]
    Interrupted,
}

/// Remedy, at the end of a message.
const DEBUG_PACKAGE: &str =
    "build with -g, or install the distribution's debug package (-dbgsym, debuginfo)";

impl Error {
    /// Returns the remedy, which stands behind the last semicolon of the message or of its source.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Debug { source, .. } => source.remedy(),
            Self::NoDebugFile { .. } => Some(DEBUG_PACKAGE.to_owned()),
            _ => None,
        }
    }

    /// Returns who has to act.
    pub fn category(&self) -> ErrorCategory {
        match self {
            Self::Missing { .. } | Self::NoProgram { .. } | Self::Untrusted { .. } => {
                ErrorCategory::Environment
            }
            Self::Interrupted => ErrorCategory::Interrupted,
            Self::File(_) | Self::Debug { .. } | Self::NoDebugFile { .. } => ErrorCategory::Input,
        }
    }
}

impl UserFacingError for Error {
    fn user_remedy(&self) -> Option<String> {
        self.remedy()
    }

    fn user_category(&self) -> ErrorCategory {
        self.category()
    }
}

fn searched_paths(missing: &[PathBuf], other_builds: &[PathBuf]) -> String {
    let list = |paths: &[PathBuf]| {
        paths
            .iter()
            .map(|path| path.display().to_string())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let mut text = String::new();
    if !other_builds.is_empty() {
        text.push_str(&format!(" ({} is of another build)", list(other_builds)));
    }
    if !missing.is_empty() {
        text.push_str(&format!(" (not there: {})", list(missing)));
    }
    text
}

fn in_parentheses(remedy: Option<&str>) -> String {
    remedy
        .map(|remedy| format!(" ({remedy})"))
        .unwrap_or_default()
}
