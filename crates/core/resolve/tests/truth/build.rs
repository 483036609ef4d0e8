//! Compiles the programs of the truth tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Failure;

/// Programs, by the names of their sources.
pub const PROGRAMS: [&str; 8] = [
    "lists.c",
    "tables.c",
    "kinds.c",
    "pools.c",
    "shared.c",
    "vectors.c",
    "classes.cc",
    "containers.cc",
];

/// Two compilers that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compiler {
    pub c: &'static str,
    pub cxx: &'static str,
}

pub const GCC: Compiler = Compiler {
    c: "gcc",
    cxx: "g++",
};
pub const CLANG: Compiler = Compiler {
    c: "clang",
    cxx: "clang++",
};

/// Runs a command. Its standard error is the error.
pub fn run_to_success(command: &mut Command) -> Result<(), Failure> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{command:?}: {text}").into()),
    }
}

/// Builds one of the programs in `folder`. The words of `wrap` come before the compiler, such as
/// `relayout cc --`.
pub fn build(
    folder: &Path,
    compiler: Compiler,
    wrap: &[&str],
    level: &str,
    source: &str,
) -> Result<PathBuf, Failure> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/truth/programs");
    let support = folder.join("truth.o");
    if !support.exists() {
        let mut command = Command::new("cc");
        command.args(["-O1", "-g0", "-fPIE", "-pthread", "-c", "-o"]);
        run_to_success(command.arg(&support).arg(sources.join("truth.c")))?;
    }
    let own = if source.ends_with(".cc") {
        compiler.cxx
    } else {
        compiler.c
    };
    let mut words = wrap.to_vec();
    words.push(own);
    let stem = source.split('.').next().unwrap_or(source);
    let program = folder.join(format!("{stem}-{own}{level}{}", wrap.len()));
    let mut command = Command::new(words[0]);
    command
        .args(&words[1..])
        .args([level, "-g", "-w", "-mcx16", "-pthread", "-fPIE"]);
    command.args(["-pie", "-Wl,--build-id", "-o"]);
    run_to_success(
        command
            .arg(&program)
            .arg(sources.join(source))
            .arg(&support),
    )?;
    Ok(program)
}
