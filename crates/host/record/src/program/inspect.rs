//! Inspection of a program file before it is recorded.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use object::{Architecture, Object};
use relayout_files::{DebugPlaces, RUNTIME, cannot, find_separate_file, map_file};
use relayout_messages::ProblemReason;

use crate::Error;
use crate::elf::{LibraryNeeds, library_needs, requested_loader};

/// Part of the name of glibc's loader, which lists libraries instead of running the program if the
/// environment asks for it. Another loader would run the program.
const GLIBC_LOADER: &str = "/ld-linux";

/// A program file, looked at before it runs.
#[derive(Clone, Debug)]
pub struct InspectedProgram {
    /// Path of the program, found in `$PATH` if it was given by name alone.
    pub path: PathBuf,
    /// Kind of program.
    pub kind: ProgramKind,
    /// True if the program has debug information, or a separate debug file was found; `None` for
    /// scripts.
    pub has_debug_info: Option<bool>,
}

/// Kinds of programs, as far as recording cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramKind {
    /// Starts with `#!`.
    Script,
    /// An ELF program without a loader, which can have no library of ours.
    Static,
    /// The program, or a library that it needs, loads our runtime.
    Instrumented,
    /// Any other ELF program.
    Plain,
}

/// Finds the program as a shell would, and looks into it.
///
/// # Errors
/// The program is missing, cannot be run, or is for another machine.
pub fn inspect_program(program: &OsStr) -> Result<InspectedProgram, Error> {
    let path = find_program(program)?;
    let refuse = |why: &str| {
        Err(Error::Unrecordable {
            path: path.clone(),
            why: why.into(),
        })
    };
    let map = map_file(&path).map_err(cannot("read", &path))?;
    if map.starts_with(b"#!") {
        let kind = ProgramKind::Script;
        return Ok(InspectedProgram {
            path,
            kind,
            has_debug_info: None,
        });
    }
    let Ok(file) = object::File::parse(&*map) else {
        return refuse(
            "it is neither an ELF program nor a script: a script's first line says what runs it, as \
             #!/bin/sh does",
        );
    };
    if file.architecture() != Architecture::X86_64 || !file.is_64() {
        return refuse("it is not an x86-64 program, which is all that can be recorded");
    }
    // A library without a soname is listed by the path at which it was linked.
    let is_runtime_name = |name: &String| Path::new(name).file_name() == Some(OsStr::new(RUNTIME));
    let has_runtime = |needs: LibraryNeeds| needs.names.iter().any(is_runtime_name);
    let kind = match requested_loader(&map) {
        None => ProgramKind::Static,
        Some(_) if library_needs(&map).is_ok_and(has_runtime) => ProgramKind::Instrumented,
        Some(loader) if loader.contains(GLIBC_LOADER) && loads_runtime(&path) => {
            ProgramKind::Instrumented
        }
        Some(_) => ProgramKind::Plain,
    };
    let has_debug_info = file.section_by_name(".debug_info").is_some()
        || matches!(
            find_separate_file(&path, &map, &DebugPlaces::default()),
            Ok(Some(_))
        );
    Ok(InspectedProgram {
        path,
        kind,
        has_debug_info: Some(has_debug_info),
    })
}

/// Finds a program as a shell would: by its path, or by its name in `$PATH`.
///
/// # Errors
/// There is none, or it cannot be run.
pub fn find_program(program: &OsStr) -> Result<PathBuf, Error> {
    let path = Path::new(program);
    let refuse_because = |why: ProblemReason| {
        Err(Error::Unrecordable {
            path: path.to_owned(),
            why,
        })
    };
    let refuse = |why: &str| refuse_because(why.into());
    if path.components().count() > 1 || program.as_encoded_bytes().contains(&b'/') {
        return match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                refuse("there is no such file")
            }
            Err(error) => Err(cannot("look at", path)(error).into()),
            Ok(meta) if meta.is_dir() => refuse("it is a folder"),
            Ok(meta) if meta.permissions().mode() & 0o111 == 0 => {
                refuse("it is not executable: chmod +x it, or name the program that runs it")
            }
            Ok(_) => Ok(path.to_owned()),
        };
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    let is_program = |path: &PathBuf| {
        fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    };
    let found = env::split_paths(&folders)
        .map(|dir| dir.join(path))
        .find(is_program);
    match found {
        Some(found) => Ok(found),
        None if path.is_file() => refuse_because(
            ProblemReason::new("there is no such program in $PATH")
                .with_remedy("for the one in this folder, put ./ before it"),
        ),
        None => refuse("there is no such program in $PATH"),
    }
}

/// Returns true if the system's loader would load the runtime with one of the program's libraries.
/// It is asked as `ldd` asks.
fn loads_runtime(path: &Path) -> bool {
    let Ok(path) = fs::canonicalize(path) else {
        return false;
    };
    let output = Command::new(path)
        .env("LD_TRACE_LOADED_OBJECTS", "1")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(RUNTIME))
}
