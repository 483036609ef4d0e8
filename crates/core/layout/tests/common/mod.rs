//! Binaries for the tests, compiled from one C file.

#![allow(dead_code)]

use std::path::{Path, PathBuf};

pub use relayout_testkit::compile_c as gcc;

/// File of `tests/data`.
pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// C file that most tests compile.
pub fn layouts_c() -> PathBuf {
    data("layouts.c")
}

/// The C file as a relocatable object.
pub fn object(flags: &[&str]) -> Vec<u8> {
    gcc(&layouts_c(), &[&["-c"], flags].concat())
}
