//! `git`, for what only it does well: worktrees and patches, and who a patch is from.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::file_error::cannot;
use crate::measure::Error;

/// Runs git in `dir` and waits for it. Repositories in or above `ceiling` are not looked for, so that a
/// folder of ours that lies within some repository is none of it.
///
/// # Errors
/// git is not installed or cannot be started; that it failed is in its output.
pub(crate) fn run_git<A: AsRef<OsStr>>(
    dir: &Path,
    ceiling: Option<&Path>,
    arguments: impl IntoIterator<Item = A>,
) -> Result<Output, Error> {
    let mut command = Command::new("git");
    command.arg("-C").arg(dir).args(arguments);
    // As a git hook is started; the repository meant is the one of the folder.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(name);
    }
    if let Some(ceiling) = ceiling {
        command.env("GIT_CEILING_DIRECTORIES", ceiling);
    }
    command.env("LC_ALL", "C");
    run_program(command, "git", "make worktrees and apply patches", "git")
}

/// Runs a program and waits for it; `what` and `package` say what for, and where it is from, if it is not
/// there.
///
/// # Errors
/// As [`git`].
pub(crate) fn run_program(
    mut command: Command,
    program: &'static str,
    purpose: &'static str,
    package: &'static str,
) -> Result<Output, Error> {
    command
        .stdin(Stdio::null())
        .output()
        .map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => Error::Missing {
                program,
                what: purpose,
                package,
            },
            _ => cannot("run", Path::new(program))(source).into(),
        })
}

/// `Name <address>` as git would write it for a commit in `dir`; `None` if there is no git, or it has not been
/// told.
pub fn git_author(dir: &Path) -> Option<String> {
    // What git makes up from the host's name is nobody's address.
    let words = ["-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT"];
    let output = run_git(dir, None, words).ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (author, _time) = text.split_once("> ")?;
    output.status.success().then(|| format!("{author}>"))
}
