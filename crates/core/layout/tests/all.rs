//! Tests of the crate's public items. They are one program, because linking takes most of the time of a test program.

#[path = "abi/main.rs"]
mod abi;
mod common;
mod damage;
mod dwarf;
mod examples;
#[path = "readers/main.rs"]
mod readers;
