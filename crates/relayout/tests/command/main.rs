//! The command as such: options, mistakes, bad input, files that cannot be read, and processes that are stopped.

#[path = "../common/mod.rs"]
mod common;

mod bad_input;
mod common_options;
mod debug_files;
mod debuginfod;
mod faults;
mod mistakes;
mod named_files;
mod shells;
mod truncated;
