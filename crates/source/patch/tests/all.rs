//! Tests of the crate's public items. They are one program, because linking takes most of the time of a test program.

mod conditional;
mod corpus;
mod cxx;
mod cxx_forms;
mod declared;
mod elements;
mod groups;
mod guard;
mod kernel;
#[path = "moves/main.rs"]
mod moves;
mod properties;
mod rust;
mod shapes;
mod unnamed;
