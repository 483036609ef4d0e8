//! Types that are printed: options that select them, and their output in pieces.

mod output;
mod selection;

pub use output::TypesOutput;
pub use selection::{SelectionArgs, SortKey};
