//! Programs and headers that building needs, checked before anything is copied.

use std::process::{Command, Stdio};

use relayout_files::find_in_path;

use super::Error;

const PROGRAMS: [&str; 8] = ["make", "gcc", "ld", "flex", "bison", "bc", "git", "gzip"];
/// Header that objtool needs, with which an x86 kernel is built.
const LIBELF_HEADER: &str = "gelf.h";

/// # Errors
/// [`Error::Needs`] with all that is missing.
pub fn require_needs() -> Result<(), Error> {
    let mut missing = Vec::from(PROGRAMS);
    missing.retain(|program| !is_installed(program));
    // Only a compiler can tell whether a header exists.
    if is_installed("gcc") && !has_header(LIBELF_HEADER) {
        missing.push(LIBELF_HEADER);
    }
    match missing.is_empty() {
        true => Ok(()),
        false => Err(Error::Needs { missing }),
    }
}

fn is_installed(program: &str) -> bool {
    find_in_path(program).is_some()
}

fn has_header(name: &str) -> bool {
    Command::new("gcc")
        .args(["-E", "-x", "c", "-include", name, "/dev/null"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Returns the compiler's version line: another compiler builds another kernel.
pub fn compiler_version() -> String {
    Command::new("gcc")
        .arg("--version")
        .output()
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        .ok()
        .and_then(|text| text.lines().next().map(str::to_owned))
        .unwrap_or_default()
}
