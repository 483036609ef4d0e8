//! Programs and headers that building needs, checked before anything is copied.

use std::process::{Command, Stdio};

use relayout_files::find_in_path;

use super::Error;
use super::error::BuildNeed;

const PROGRAMS: &[BuildNeed] = &[
    need("make", "make"),
    need("gcc", "gcc"),
    need("ld", "binutils"),
    need("flex", "flex"),
    need("bison", "bison"),
    need("bc", "bc"),
    need("git", "git"),
    need("gzip", "gzip"),
];
/// Header that objtool needs, with which an x86 kernel is built.
const LIBELF_HEADER: BuildNeed = need("gelf.h", "libelf-dev");

const fn need(what: &'static str, package: &'static str) -> BuildNeed {
    BuildNeed { what, package }
}

/// # Errors
/// [`Error::Needs`] with all that is missing.
pub fn require_needs() -> Result<(), Error> {
    let lacks = |need: &&BuildNeed| !is_installed(need.what);
    let mut missing: Vec<BuildNeed> = PROGRAMS.iter().filter(lacks).copied().collect();
    // Only a compiler can tell whether a header exists.
    if is_installed("gcc") && !has_header(LIBELF_HEADER.what) {
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
    let said = Command::new("gcc").arg("--version").output();
    let said = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let first = said
        .ok()
        .and_then(|text| text.lines().next().map(str::to_owned));
    first.unwrap_or_default()
}
