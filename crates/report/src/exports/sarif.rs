//! Outcomes of checks and findings of reports as SARIF 2.1.0, the format of code scanning.
//!
//! Files below the source folder are named relative to it, under the base `SRCROOT`, so that they are
//! found in the repository whatever the build's folder was. A result's fingerprint has neither
//! lines nor offsets in it: it stays the same while the source around it changes.

mod check;
mod findings;
mod format;
mod kinds;

pub use check::render_check;
pub use findings::render_findings;

/// Facts about the tool and the source that all results share.
#[derive(Clone, Copy, Debug)]
pub struct SarifContext<'a> {
    /// Version of the tool.
    pub version: &'a str,
    /// Page about the tool, as an absolute URI; empty if there is none.
    pub information_uri: &'a str,
    /// The folders of the source, as the compiler and the configuration name them: what lies below
    /// one of them is named relative to it.
    pub source_roots: &'a [String],
}
