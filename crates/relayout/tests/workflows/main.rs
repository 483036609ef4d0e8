//! Commands that run something and compare it: `verify`, `kit`, `suite`, `compare`, `tune`, `probe`.

#[path = "../common/mod.rs"]
mod common;

mod compare;
mod kit;
mod probe;
mod suite;
mod tune;
mod verify;
