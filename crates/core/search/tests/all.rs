//! Tests of what the crate offers, in one program: each further one is linked with all that it uses.

mod builds;
mod cases;
mod checked;
mod common;
mod compiled;
mod known;
mod rewrite;
mod rust_fields;
