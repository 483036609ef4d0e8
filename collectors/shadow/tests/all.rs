//! Tests of the crate's public items. They are one program, because linking takes most of the time of a test program.

mod adjacent;
mod awaited;
mod bursts;
mod coherence;
mod common;
mod limits;
mod pairs;
mod threads;
mod visits;
