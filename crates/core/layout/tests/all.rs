//! Tests of what the crate offers, in one program: each further one is linked with all that it uses.

#[path = "abi/main.rs"]
mod abi;
mod common;
mod damage;
mod dwarf;
mod examples;
#[path = "readers/main.rs"]
mod readers;
