//! Tests of the crate's public items. They are one program, because linking takes most of the time of a test program.

mod common;
mod examples;
mod format;
mod limits;
mod merge;
#[path = "perf/main.rs"]
mod perf;
mod program;
#[path = "segments/main.rs"]
mod segments;
mod store;
mod versions;
