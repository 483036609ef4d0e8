//! How findings are shown: one renderer per file. Renderers take values and return text; they
//! touch neither files nor the terminal.

pub mod json;
mod production;
mod remedy;
pub mod sarif;
mod select;
pub mod text;

use relayout_contend::Findings;
use relayout_profile::Meta;

pub use production::{Placed, Production};
pub use select::Selection;

/// What a renderer is given.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// Of the profile.
    pub meta: &'a Meta,
    /// What was found in it.
    pub findings: &'a Findings,
    /// Which of the findings to show; totals and unresolved lines are always shown.
    pub selection: &'a Selection,
    /// Where the variables are in a build without instrumentation, if one was given.
    pub production: Option<&'a Production>,
}
