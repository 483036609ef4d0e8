//! Types of all files, with one representative for each, and the variables that have them.

mod buffers;
pub mod die;
pub mod globals;
pub mod shape;
pub mod store;

pub use globals::{GlobalVariables, PlacedVariable, ProgramVariable};
pub use store::{FileDie, TypeStore};
