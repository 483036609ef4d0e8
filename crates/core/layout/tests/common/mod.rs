//! Binaries for the tests, compiled on the spot.

#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The source that most tests look at.
pub fn layouts_c() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/layouts.c")
}

/// Compiles a C file with gcc and returns the output file's bytes.
pub fn gcc(source: &Path, flags: &[&str]) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = folder.path().join("out");
    let done = Command::new("gcc")
        .args(flags)
        .arg("-o")
        .arg(&output)
        .arg(source)
        .output();
    let done = done.expect("gcc runs (package gcc)");
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    std::fs::read(output).expect("gcc wrote its output")
}

/// The layouts as a relocatable object.
pub fn object(flags: &[&str]) -> Vec<u8> {
    gcc(&layouts_c(), &[&["-c"], flags].concat())
}
