//! Output of `relayout show` against that of the installed pahole for the same file.

#[path = "../common/mod.rs"]
mod common;
mod kernel;
mod peer;
mod small;
