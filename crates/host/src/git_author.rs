//! Who a patch is from.

use std::path::Path;
use std::process::{Command, Stdio};

/// `Name <address>` as git would write it for a commit in `dir`; `None` if there is no git, or it has not been
/// told.
pub fn git_author(dir: &Path) -> Option<String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(dir)
        // What git makes up from the host's name is nobody's address.
        .args(["-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT"])
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (author, _time) = text.split_once("> ")?;
    output.status.success().then(|| format!("{author}>"))
}
