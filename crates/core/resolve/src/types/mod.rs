//! Types of all files, with one representative for each, and the variables that have them.

mod buffers;
pub mod die;
pub mod globals;
pub mod shape;
mod spelled;
pub mod store;

pub use globals::{GlobalVariables, PlacedVariable, ProgramVariable};
pub(crate) use spelled::split_arguments;
pub use store::{FileDie, TypeStore};
