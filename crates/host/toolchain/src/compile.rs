//! Compiles small units of C and C++ as a project's own files are compiled. Their debug information
//! shows the layout of the project's types.
//!
//! The project's `compile_commands.json` ([`CompileDatabase`]) has a command for each of its files.
//! [`choose_recipe`] picks the command that fits a header best. A [`CompileRecipe`] keeps the flags
//! that can change a layout and drops inputs, outputs and warnings. No program but the compiler of
//! the database is run.

mod choose;
mod database;
mod error;
pub(crate) mod flags;
mod recipe;
pub(crate) mod response;
mod run;
mod unit;

pub use choose::choose_recipe;
pub use database::{CompileCommand, CompileDatabase};
pub use error::Error;
pub use recipe::{CompileRecipe, SourceLanguage};
pub use run::UnitCompiler;
pub use unit::HeaderUnit;

#[cfg(test)]
mod tests;
