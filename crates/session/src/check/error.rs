//! Errors of a check.

use std::io;
use std::path::{Path, PathBuf};

use relayout_check::ConfigError;

use crate::host_error::from_through;

/// Rules, files or headers that cannot be checked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// No file of rules exists.
    #[error(
        "there is no relayout.toml in {} or above; write one (`relayout check --help` shows how) or \
         give one with --config FILE",
        .0.display()
    )]
    NoConfig(PathBuf),
    /// The text of the rules or of the lock file is wrong.
    #[error("{}", problem_lines(path, problems))]
    Config {
        /// File.
        path: PathBuf,
        /// Problems with their places.
        problems: ConfigError,
    },
    /// The file sets no option of a kernel.
    #[error("{} is no kernel configuration: no line of it sets an option", .0.display())]
    NoKconfig(PathBuf),
    /// No rule applies to any of the files.
    #[error("{}: no rule applies to any of the files, so nothing was checked", .0.display())]
    NothingChecked(PathBuf),
    /// A rule or condition cannot be judged.
    #[error("{0}")]
    Judge(#[from] relayout_check::Error),
    /// A profile, file or process failed.
    #[error("{0}")]
    Session(#[from] crate::Error),
    /// The current folder is not known.
    #[error("cannot tell the current folder")]
    CurrentFolder(#[source] io::Error),
    /// No compilation database lies above a header.
    #[error(
        "there is no compile_commands.json in the folder of {} or above it; say with \
         --compile-commands where it is (Linux: scripts/clang-tools/gen_compile_commands.py makes it \
         after a build, CMake: -DCMAKE_EXPORT_COMPILE_COMMANDS=ON)",
        .0.display()
    )]
    NoDatabase(PathBuf),
    /// The object of a compiled header cannot be read.
    #[error("cannot read what {} was compiled to", path.display())]
    CompiledHeader {
        /// Header.
        path: PathBuf,
        /// Cause.
        source: relayout_layout::Error,
    },
    /// The profiles are of different builds.
    #[error("{} is of another build than the profiles before it; record one build", .0.display())]
    OtherBuild(PathBuf),
}

impl CheckError {
    pub(super) fn config(path: &Path) -> impl FnOnce(ConfigError) -> Self {
        move |problems| Self::Config {
            path: path.to_owned(),
            problems,
        }
    }
}

from_through!(
    CheckError, Session: relayout_files::FileError,
    relayout_toolchain::compile::Error,
);

/// `relayout.toml:3:1: unknown key`, one on each line.
fn problem_lines(path: &Path, error: &ConfigError) -> String {
    let place = path.display();
    error
        .problems
        .iter()
        .map(|problem| format!("{place}:{}: {}", problem.at, problem.message))
        .collect::<Vec<String>>()
        .join("\n")
}
