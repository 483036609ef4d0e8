//! A source line that accesses, and its kind of access.

use relayout_contend::finding::SiteUse;
use relayout_profile::AccessKind;
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema)]
pub(super) struct SiteDocument<'a> {
    function: Option<&'a str>,
    inlined: Option<&'a str>,
    pub(super) file: Option<&'a str>,
    pub(super) line: Option<u32>,
    access: &'static str,
    count: u64,
    transfers: u64,
    caused: u64,
}

pub(super) fn site_document(site: &SiteUse) -> SiteDocument<'_> {
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

pub(super) fn access_key(access: AccessKind) -> &'static str {
    match access {
        AccessKind::Read => "read",
        AccessKind::Write => "write",
        AccessKind::ReadWrite => "read-write",
    }
}
