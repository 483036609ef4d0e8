//! Tests of what the crate offers, in one program: each further one is linked with all that it uses.

mod byte_map;
mod common;
mod lines;
mod pauses;
mod properties;
mod rules;
