//! Tests of what the crate offers, in one program: each further one is linked with all that it uses.

#[path = "advice/main.rs"]
mod advice;
mod experiments;
mod waiting;
