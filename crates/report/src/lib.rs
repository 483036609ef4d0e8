//! Documents and texts: findings, advice, comparisons and checks as JSON, SARIF, CSV, SVG, plain text and
//! mail, and transfers over time for the Firefox Profiler.
//!
//! Each JSON document is a typed struct with a schema in `docs/schema`; see [`document_schemas`]. A
//! renderer takes values and returns text. It touches neither files nor the terminal.
//!
//! ```
//! use relayout_contend::Findings;
//! use relayout_profile::ProfileMeta;
//! use relayout_report::{FindingSelection, ReportContents, text};
//!
//! let report = ReportContents {
//!     profile: "out.relayout",
//!     meta: &ProfileMeta::default(),
//!     findings: &Findings::default(),
//!     selection: &FindingSelection::default(),
//!     production: None,
//!     judgements: None,
//!     sources: &[],
//!     layouts: &[],
//! };
//! assert!(text::render(&report).starts_with("relayout report"));
//! ```

pub mod advise;
pub mod check;
pub mod compare;
mod csv_tables;
pub mod diff;
mod doctor;
mod document;
mod error_document;
mod escape;
mod explain;
mod firefox;
pub mod fleet;
mod highlight;
pub mod json;
mod judged_change;
pub mod kit;
mod machines;
mod page;
mod probe;
pub mod record;
mod remedy;
pub mod sarif;
mod saving;
mod schema;
mod select;
pub mod show;
mod source_excerpt;
mod source_positions;
pub mod suite;
pub mod text;
pub mod tune;
pub mod verify;
pub mod view;
mod words;
mod wrap;

use relayout_advice::TypeJudgements;
use relayout_contend::Findings;
use relayout_profile::ProfileMeta;
use relayout_session::{ProductionBuild, SourceFile, SubjectLayout};

pub use csv_tables::{CsvTable, csv_tables};
pub use doctor::{DoctorDocument, survey_document, survey_text};
pub use document::Document;
pub use error_document::ErrorDocument;
pub use escape::escape_text;
pub use explain::{ExplainDocument, explain_document, explain_text};
pub use firefox::render_firefox_profile;
pub use highlight::{TextKind, highlight};
pub use machines::{MachinesDocument, machines_document, machines_text};
pub use page::page;
pub use probe::probe_text;
pub use schema::{DocumentSchema, document_schemas};
pub use select::FindingSelection;

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
}
