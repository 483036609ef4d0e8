//! Tells the command which commit it is built from, for `--version`.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=RELAYOUT_COMMIT");
    let commit = std::env::var("RELAYOUT_COMMIT")
        .ok()
        .or_else(packaged_commit)
        .or_else(git_commit);
    let version = env!("CARGO_PKG_VERSION");
    let date = commit.as_deref().and_then(|commit| commit.split_once(' '));
    println!(
        "cargo::rustc-env=RELAYOUT_DATE={}",
        date.map_or("", |(_, date)| date)
    );
    let text = match commit.filter(|commit| !commit.is_empty()) {
        Some(commit) => format!("{version} ({commit})"),
        None => version.to_owned(),
    };
    println!("cargo::rustc-env=RELAYOUT_VERSION={text}");
}

/// Commit and date of the work tree, if this is one of git.
fn git_commit() -> Option<String> {
    let git = |words: &[&str]| {
        let output = Command::new("git").args(words).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    // A clone of the project, rather than a repository that it was copied into.
    let prefix = git(&["rev-parse", "--show-prefix"])?;
    if prefix != "crates/relayout/" {
        return None;
    }
    let folder = git(&["rev-parse", "--absolute-git-dir"])?;
    // HEAD's log changes with each commit and checkout.
    for file in ["HEAD", "logs/HEAD"] {
        let path = Path::new(&folder).join(file);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    git(&["log", "-1", "--format=%h %cs", "--abbrev=10"])
}

/// Commit that `cargo package` has written beside the sources.
fn packaged_commit() -> Option<String> {
    let text = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, rest) = text.split_once("\"sha1\": \"")?;
    rest.get(..10).map(str::to_owned)
}
