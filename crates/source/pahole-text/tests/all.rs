//! Tests of the crate's public items. They are one program, because linking takes most of the time of a test program.

mod changed;
mod fixture;
