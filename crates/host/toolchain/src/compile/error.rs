//! Why a unit could not be compiled.

use std::path::PathBuf;

use relayout_files::FileError;
use relayout_messages::{ErrorCategory, UserFacingError};

/// Why a unit could not be compiled. Each names the file and the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The compilation database has another format.
    #[error("{} is not a compilation database: {why}", path.display())]
    Database {
        /// The database.
        path: PathBuf,
        /// The defect, and its position.
        why: String,
    },
    /// An entry's command cannot be split into words.
    #[error("the command for {} in the compilation database is empty, or has quotes that do not close", file.display())]
    Command {
        /// The file that it compiles.
        file: PathBuf,
    },
    /// No entry compiles C or C++.
    #[error(
        "{} has no entry that compiles {language}; {GENERATE_AGAIN}",
        path.display()
    )]
    NoEntry {
        /// The database.
        path: PathBuf,
        /// The language that is missing.
        language: &'static str,
    },
    /// The file has no entry.
    #[error("{} has no entry for {}", path.display(), file.display())]
    NoSuchEntry {
        /// The database.
        path: PathBuf,
        /// The source file that was named.
        file: PathBuf,
    },
    /// A file of arguments (`@file`) includes itself, or too many.
    #[error("response file {}: {why}", path.display())]
    Response {
        /// The file.
        path: PathBuf,
        /// The defect.
        why: &'static str,
    },
    /// The header's name cannot be written into an `#include`.
    #[error(
        "{} cannot be included: its name has a quote, a line break or bytes that are not UTF-8",
        path.display()
    )]
    HeaderName {
        /// The header.
        path: PathBuf,
    },
    /// A compiler's command has no word, or quotes that do not close.
    #[error("'{text}' is not a compiler's command")]
    NotACommand {
        /// The text, as given.
        text: String,
    },
    /// The compiler is missing.
    #[error("there is no compiler '{compiler}', which {} names; {INSTALL_COMPILER}", from.display())]
    NoCompiler {
        /// The program.
        compiler: String,
        /// The source file whose command names the compiler.
        from: PathBuf,
    },
    /// The compiler refused the unit.
    #[error("{compiler} cannot compile {header} as {} is compiled{}", like.display(), output_below(output))]
    Refused {
        /// The program.
        compiler: String,
        /// The header of the unit.
        header: String,
        /// The source file whose flags were taken.
        like: PathBuf,
        /// The compiler's output; empty if none.
        output: String,
    },
    /// Stopped by the user.
    #[error("interrupted")]
    Interrupted,
}

fn output_below(output: &str) -> String {
    match output.trim_end() {
        "" => "; it says nothing".to_owned(),
        output => format!(":\n  {}", output.replace('\n', "\n  ")),
    }
}

/// Remedies, each at the end of a message.
const GENERATE_AGAIN: &str = "generate it again after a build (Linux: scripts/clang-tools/gen_compile_commands.py, \
                              CMake: -DCMAKE_EXPORT_COMPILE_COMMANDS=ON)";
const INSTALL_COMPILER: &str = "install it, or name another with --compiler";

impl Error {
    /// Returns the remedy, which stands behind the last semicolon of the message.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::NoEntry { .. } => Some(GENERATE_AGAIN),
            Self::NoCompiler { .. } => Some(INSTALL_COMPILER),
            _ => None,
        }
    }

    /// Returns who has to act.
    pub fn category(&self) -> ErrorCategory {
        match self {
            Self::NoCompiler { .. } => ErrorCategory::Environment,
            Self::Interrupted => ErrorCategory::Interrupted,
            _ => ErrorCategory::Input,
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
