//! Tests of what the crate offers, in one program: each further one is linked with all that it uses.

mod changed;
mod fixture;
