//! Errors of a check.

use std::io;
use std::path::{Path, PathBuf};

use relayout_check::ConfigError;

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
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// File.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// A file cannot be found.
    #[error("cannot find {}", path.display())]
    Find {
        /// File.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
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
    pub(super) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Read {
            path: path.to_owned(),
            source,
        }
    }

    pub(super) fn find(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Find {
            path: path.to_owned(),
            source,
        }
    }

    pub(super) fn config(path: &Path) -> impl FnOnce(ConfigError) -> Self {
        move |problems| Self::Config {
            path: path.to_owned(),
            problems,
        }
    }

    pub(super) fn compile(error: relayout_toolchain::compile::Error) -> Self {
        crate::Error::Host(error.into()).into()
    }
}

/// `relayout.toml:3:1: unknown key`, one on each line.
fn problem_lines(path: &Path, error: &ConfigError) -> String {
    let place = path.display();
    let lines = error.problems.iter();
    let lines = lines.map(|problem| format!("{place}:{}: {}", problem.at, problem.message));
    lines.collect::<Vec<String>>().join("\n")
}
