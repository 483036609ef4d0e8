//! Runs of `git`: worktrees, patches, and the author of a patch.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::Error;
use crate::file_error::cannot;

/// Runs git in `dir` and waits for it. Git does not search for repositories in `ceiling` or above,
/// so that it does not take a temporary folder for a part of the repository around it.
///
/// # Errors
/// Git is not installed or cannot be started. A failure of git itself is in the output.
pub fn run_git<A: AsRef<OsStr>>(
    dir: &Path,
    ceiling: Option<&Path>,
    arguments: impl IntoIterator<Item = A>,
) -> Result<Output, Error> {
    let mut command = Command::new("git");
    command.arg("-C").arg(dir).args(arguments);
    // Set where relayout runs in a git hook; the repository meant here is that of `dir`.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(name);
    }
    if let Some(ceiling) = ceiling {
        command.env("GIT_CEILING_DIRECTORIES", ceiling);
    }
    command.env("LC_ALL", "C");
    run_program(command, "git", "make worktrees and apply patches")
}

/// Runs a program and waits for it. The error names `purpose` and the program's package if it is
/// not installed.
///
/// # Errors
/// The program is not installed or cannot be started.
pub fn run_program(
    mut command: Command,
    program: &'static str,
    purpose: &'static str,
) -> Result<Output, Error> {
    command
        .stdin(Stdio::null())
        .output()
        .map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => Error::NoProgram { program, purpose },
            _ => cannot("run", Path::new(program))(source).into(),
        })
}

/// Returns `Name <address>` as git writes it into a commit in `dir`; `None` without git, or without
/// a configured name.
pub fn git_author(dir: &Path) -> Option<String> {
    // Without a configured address, git would make one up from the host's name.
    let words = ["-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT"];
    let output = run_git(dir, None, words).ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (author, _time) = text.split_once("> ")?;
    output.status.success().then(|| format!("{author}>"))
}
