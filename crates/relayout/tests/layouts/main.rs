//! Types and layouts of built files: `show`, `diff`, `check`, and how kernels, C++ and Rust declare them.

#[path = "../common/mod.rs"]
mod common;

mod check;
mod check_source;
mod cxx_units;
mod diff;
mod line_groups;
mod rust_copies;
mod show;
mod unnamed_members;
