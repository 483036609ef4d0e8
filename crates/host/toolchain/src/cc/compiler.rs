//! Identification of the compiler that the user named.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use relayout_files::find_in_path;

use super::CompilerError;

/// A compiler that we know how to ask for instrumentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompilerFamily {
    /// GCC, with its major version if its name or its `--version` has one.
    Gcc {
        /// The version.
        major: Option<u32>,
    },
    /// Clang.
    Clang,
}

impl CompilerFamily {
    /// Identifies the program that `name` and its first arguments start: by the name of the file
    /// behind all links, or else by its `--version`.
    ///
    /// # Errors
    /// The program cannot be run, or is neither GCC nor Clang.
    pub fn identify(
        name: &OsStr,
        leading_arguments: &[OsString],
        variable: &'static str,
    ) -> Result<Self, CompilerError> {
        let resolved_path =
            locate_program(Path::new(name)).and_then(|path| fs::canonicalize(path).ok());
        if resolved_path.is_some() && resolved_path == env::current_exe().ok() {
            return Err(CompilerError::WrapsItself { variable });
        }
        let file = resolved_path
            .as_deref()
            .filter(|path| leading_arguments.is_empty() && is_binary(path))
            .and_then(Path::file_name)
            .map(|name| name.to_string_lossy());
        // A GCC without a version in its name has to be asked for it, since its flags depend on it.
        match file.and_then(|name| family_by_name(&name)) {
            None | Some(CompilerFamily::Gcc { major: None }) => {}
            Some(family) => return Ok(family),
        }
        let output = Command::new(name)
            .args(leading_arguments)
            .arg("--version")
            .env(super::RUNNING, "1")
            .stdin(Stdio::null())
            .output()
            .map_err(|source| CompilerError::NotRun {
                compiler: name.to_owned(),
                variable,
                source,
            })?;
        family_by_version(&String::from_utf8_lossy(&output.stdout)).ok_or_else(|| {
            CompilerError::UnknownCompiler {
                compiler: name.to_owned(),
            }
        })
    }
}

/// Finds a program as `execvp` does.
fn locate_program(name: &Path) -> Option<PathBuf> {
    if name.components().count() > 1 {
        return Some(name.to_owned());
    }
    find_in_path(name)
}

/// Scripts may start anything.
fn is_binary(path: &Path) -> bool {
    let mut start = [0; 4];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && &start == b"\x7fELF"
}

/// `x86_64-linux-gnu-g++-12`, `clang-14`, `clang++`.
fn family_by_name(file: &str) -> Option<CompilerFamily> {
    let (stem, version) = match file.rsplit_once('-') {
        Some((stem, version)) if version.starts_with(|c: char| c.is_ascii_digit()) => {
            (stem, Some(version))
        }
        _ => (file, None),
    };
    let base = stem.rsplit('-').next()?;
    let major = version.and_then(|v| v.split('.').next()?.parse().ok());
    match base {
        "gcc" | "g++" => Some(CompilerFamily::Gcc { major }),
        "clang" | "clang++" => Some(CompilerFamily::Clang),
        _ => None,
    }
}

fn family_by_version(text: &str) -> Option<CompilerFamily> {
    if text.contains("clang version") {
        Some(CompilerFamily::Clang)
    } else if text.contains("Free Software Foundation") {
        // `gcc (Debian 12.2.0-14+deb12u1) 12.2.0`
        let first = text.lines().next().unwrap_or_default();
        let last = first.rsplit(' ').next().unwrap_or_default();
        let major = last.split('.').next().and_then(|n| n.parse().ok());
        Some(CompilerFamily::Gcc { major })
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell() {
        let gcc = |major| Some(CompilerFamily::Gcc { major });
        let check = |name: &str, expect| assert_eq!(family_by_name(name), expect, "{name}");
        check("gcc", gcc(None));
        check("x86_64-linux-gnu-gcc-12", gcc(Some(12)));
        check("x86_64-linux-gnu-g++-4.9", gcc(Some(4)));
        check("clang", Some(CompilerFamily::Clang));
        check("clang++-14", Some(CompilerFamily::Clang));
        check("ccache", None);
        check("icx", None);
        check("gcc-ar-12", None);
    }

    #[test]
    fn versions_tell() {
        let check = |text: &str, expect| assert_eq!(family_by_version(text), expect, "{text}");
        check(
            "cc (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright (C) 2022 Free Software Foundation, Inc.\n",
            Some(CompilerFamily::Gcc { major: Some(12) }),
        );
        check(
            "Debian clang version 14.0.6\nTarget: x86_64-pc-linux-gnu\n",
            Some(CompilerFamily::Clang),
        );
        check("Intel(R) oneAPI DPC++/C++ Compiler 2023.2.0\n", None);
        check("", None);
    }
}
