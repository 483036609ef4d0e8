//! Tests of what the crate offers, in one program: each further one is linked with all that it uses.

mod common;
mod documents;
mod render;
#[path = "sarif/main.rs"]
mod sarif;
mod schema;
mod view;
