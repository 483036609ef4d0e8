//! Trial of a compiler: a small program is built with it and run.

use std::ffi::OsString;
use std::fs;
use std::process::Stdio;

use relayout_files::private_dir;

use super::{CompilerDriver, CompilerError, build_command};

const PROGRAM: &str = "long x; int main(void) { x++; return 0; }\n";

/// Builds a small program with this compiler, as `relayout cc` does, and runs it.
///
/// # Errors
/// Which step failed, in words.
pub fn try_compiler(compiler: &str) -> Result<(), String> {
    let error_text = |error: &dyn std::error::Error| error.to_string();
    let folder = private_dir(&std::env::temp_dir()).map_err(|error| error_text(&error))?;
    let (source, program) = (folder.path().join("a.c"), folder.path().join("a"));
    fs::write(&source, PROGRAM).map_err(|error| error_text(&error))?;
    let words: [OsString; 5] = [
        "--".into(),
        compiler.into(),
        source.into(),
        "-o".into(),
        program.clone().into(),
    ];
    let (_, mut build) =
        build_command(CompilerDriver::C, &words, |_| {}).map_err(|error| match error {
            CompilerError::NotRun { source, .. } => source.to_string(),
            CompilerError::Files(relayout_files::Error::Missing { missing, .. }) => {
                format!("{missing} is missing")
            }
            other => other.to_string(),
        })?;
    let built = build
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error_text(&error))?;
    if !built.status.success() {
        let diagnostics = String::from_utf8_lossy(&built.stderr);
        let last = diagnostics.lines().rfind(|line| !line.is_empty());
        return Err(format!(
            "cannot build: {}",
            last.unwrap_or("it does not say why")
        ));
    }
    let ran = std::process::Command::new(&program)
        .env_remove("RELAYOUT_DIR")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error_text(&error))?;
    match ran.status.success() {
        true => Ok(()),
        false => Err(format!("what it builds does not run: {}", ran.status)),
    }
}
