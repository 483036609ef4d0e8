//! Compiles small units of C and C++ as a project's own files are compiled, to learn from their debug
//! information what its types look like.
//!
//! How the project compiles is said by its `compile_commands.json` ([`Database`]). Of the command
//! that fits a header best ([`choose`]) everything is kept that can change a layout; what names
//! inputs, outputs and warnings goes ([`Recipe`]). The compiler that the database names is run;
//! nothing else is.

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
