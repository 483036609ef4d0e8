//! How findings are shown: one renderer per file. Renderers take values and return text; they
//! touch neither files nor the terminal.

pub mod check;
pub mod diff;
mod document;
pub mod json;
mod production;
mod remedy;
pub mod sarif;
mod select;
pub mod text;

use relayout_contend::Findings;
use relayout_profile::ProfileMeta;

pub use document::{Document, DocumentSchema, document_schemas};
pub use production::{ProductionBuild, ProductionPlacement};
pub use select::FindingSelection;

/// What a renderer is given.
#[derive(Clone, Copy, Debug)]
pub struct ReportContents<'a> {
    /// Of the profile.
    pub meta: &'a ProfileMeta,
    /// What was found in it.
    pub findings: &'a Findings,
    /// Which of the findings to show; totals and unresolved lines are always shown.
    pub selection: &'a FindingSelection,
    /// Where the variables are in a build without instrumentation, if one was given.
    pub production: Option<&'a ProductionBuild>,
}
