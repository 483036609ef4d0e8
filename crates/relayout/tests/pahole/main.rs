//! What `relayout show` prints, beside what the installed pahole prints of the same file.

#[path = "../common/mod.rs"]
mod common;
mod kernel;
mod peer;
mod small;
