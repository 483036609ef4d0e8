//! Tests of what the crate offers, in one program: each further one is linked with all that it uses.

mod adjacent;
mod awaited;
mod bursts;
mod coherence;
mod common;
mod limits;
mod pairs;
mod threads;
mod visits;
