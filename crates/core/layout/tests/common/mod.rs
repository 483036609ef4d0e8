//! Binaries for the tests, compiled from one C file.

#![allow(dead_code)]

use std::path::{Path, PathBuf};

pub use relayout_testkit::compile_c as gcc;

/// C file that most tests compile.
pub fn layouts_c() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/layouts.c")
}

/// The C file as a relocatable object.
pub fn object(flags: &[&str]) -> Vec<u8> {
    gcc(&layouts_c(), &[&["-c"], flags].concat())
}
