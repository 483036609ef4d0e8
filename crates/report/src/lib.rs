//! Documents and texts: findings, advice, comparisons and checks as JSON, SARIF, CSV, SVG, plain text and
//! mail, and transfers over time for the Firefox Profiler.
//!
//! Each JSON document is a typed struct with a schema in `docs/schema`; see
//! [`document_schemas`](documents::schema::document_schemas). A renderer takes values and returns text. It touches
//! neither files nor the terminal.
//!
//! ```
//! use relayout_contend::Findings;
//! use relayout_profile::ProfileMeta;
//! use relayout_report::text::report;
//! use relayout_report::{FindingSelection, ReportContents};
//!
//! let contents = ReportContents {
//!     profile: "out.relayout",
//!     meta: &ProfileMeta::default(),
//!     findings: &Findings::default(),
//!     selection: &FindingSelection::default(),
//!     production: None,
//!     judgements: None,
//!     sources: &[],
//!     layouts: &[],
//!     freed: &[],
//! };
//! assert!(report::render(&contents).starts_with("relayout report"));
//! ```

#![cfg_attr(
    not(test),
    deny(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        clippy::print_stderr,
        clippy::print_stdout
    )
)]

pub mod documents;
pub mod exports;
mod page;
pub mod text;
pub mod view;
mod words;

use relayout_advice::{FreedLine, TypeJudgements};
use relayout_contend::Findings;
use relayout_profile::ProfileMeta;
use relayout_session::{ProductionBuild, SourceFile, SubjectLayout};

pub use documents::Document;
pub use documents::error::ErrorDocument;
pub use documents::selection::FindingSelection;
pub use page::page;
pub use words::escape::escape_text;

/// Input of a report's renderers.
#[derive(Clone, Copy, Debug)]
pub struct ReportContents<'a> {
    /// Facts about the recording.
    pub meta: &'a ProfileMeta,
    /// Path of the profile as the user typed it, which commands in sentences name.
    pub profile: &'a str,
    /// Findings of the profile.
    pub findings: &'a Findings,
    /// Findings to show; totals and unresolved lines are always shown.
    pub selection: &'a FindingSelection,
    /// Placement of the variables in the production build.
    pub production: Option<&'a ProductionBuild>,
    /// What layouts can save, by type; `None` where a report does not speak of it.
    pub judgements: Option<&'a TypeJudgements>,
    /// Files of the findings' instructions; empty without a source tree.
    pub sources: &'a [SourceFile],
    /// Layouts of what the findings are about, for documents.
    pub layouts: &'a [SubjectLayout],
    /// Findings whose lines were executed as if they cost nothing.
    pub freed: &'a [FreedLine],
}
