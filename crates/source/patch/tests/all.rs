//! Tests of what the crate offers, in one program: each further one is linked with all that it uses.

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
