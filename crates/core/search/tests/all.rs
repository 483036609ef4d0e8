//! Tests of the crate's public items. They are one program, because linking takes most of the time of a test program.

mod builds;
mod cases;
mod checked;
mod common;
mod compiled;
mod known;
mod rewrite;
mod rust_fields;
