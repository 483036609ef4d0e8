//! A source line that accesses, and its kind of access.

use relayout_contend::finding::SiteUse;
use relayout_profile::AccessKind;
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema)]
pub(crate) struct SiteDocument<'a> {
    /// Function that the code belongs to; null if unknown.
    function: Option<&'a str>,
    /// Functions inlined there, from the outside inwards; null where none was.
    inlined: Option<&'a str>,
    /// Source file, as the debug information names it.
    pub(crate) file: Option<&'a str>,
    /// 1-based line in `file`.
    pub(crate) line: Option<u32>,
    /// Kind of access: `read`, `write`, `read-write`.
    access: &'static str,
    /// Number of accesses.
    count: u64,
    /// Transfers: moves of a cache line to a CPU that another CPU had it.
    transfers: u64,
    /// Transfers that other accesses waited for because of these.
    caused: u64,
}

pub(crate) fn site_document(site: &SiteUse) -> SiteDocument<'_> {
    SiteDocument {
        function: site.source.function.as_deref(),
        inlined: site.source.inlined.as_deref(),
        file: site.source.file.as_deref(),
        line: site.source.line,
        access: access_key(site.access),
        count: site.count,
        transfers: site.transfers,
        caused: site.caused,
    }
}

/// Returns the word for a kind of access in documents: `read-write`.
pub fn access_key(access: AccessKind) -> &'static str {
    match access {
        AccessKind::Read => "read",
        AccessKind::Write => "write",
        AccessKind::ReadWrite => "read-write",
    }
}
