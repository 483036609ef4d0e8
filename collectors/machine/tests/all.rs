//! Tests of the crate's public items. They are one program, because linking takes most of the time of a test program.

mod byte_map;
mod common;
mod lines;
mod pauses;
mod properties;
mod rules;
