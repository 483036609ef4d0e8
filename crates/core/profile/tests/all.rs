//! Tests of what the crate offers, in one program: each further one is linked with all that it uses.

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
