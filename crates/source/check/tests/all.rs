//! Tests of what the crate offers, in one program: each further one is linked with all that it uses.

mod compilers;
mod config;
mod docs;
mod emit;
mod emit_agrees;
mod lock;
