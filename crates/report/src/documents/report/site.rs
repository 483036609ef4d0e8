//! A source line that accesses, and its kind of access.

use relayout_contend::SiteSource;
use relayout_contend::finding::SiteUse;
use relayout_profile::AccessKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Place in the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct PositionDocument {
    /// Function that the code belongs to; null if unknown.
    pub(crate) function: Option<String>,
    /// Functions inlined there, from the outside inwards; null where none was.
    pub(crate) inlined: Option<String>,
    /// Source file, as the debug information names it.
    pub(crate) file: Option<String>,
    /// 1-based line in `file`.
    pub(crate) line: Option<u32>,
}

impl PositionDocument {
    /// Returns the innermost function that is known.
    pub(crate) fn innermost(&self) -> Option<&str> {
        let inlined = self
            .inlined
            .as_deref()
            .and_then(|names| names.rsplit(" > ").next());
        inlined.or(self.function.as_deref())
    }

    /// Returns the file with the line; `None` unless both are known.
    pub(crate) fn file_line(&self) -> Option<(&str, u32)> {
        self.file.as_deref().zip(self.line)
    }
}

impl From<&SiteSource> for PositionDocument {
    fn from(source: &SiteSource) -> Self {
        Self {
            function: source.function.clone(),
            inlined: source.inlined.clone(),
            file: source.file.clone(),
            line: source.line,
        }
    }
}

/// Source line whose instructions access in one way.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SiteDocument {
    #[serde(flatten)]
    pub(crate) position: PositionDocument,
    /// Kind of access: `read`, `write`, `read-write`.
    #[serde(with = "access_word")]
    #[schemars(with = "String")]
    pub(crate) access: AccessKind,
    /// Number of accesses.
    pub(crate) count: u64,
    /// Transfers: moves of a cache line to a CPU that another CPU had it.
    pub(crate) transfers: u64,
    /// Transfers that other accesses waited for because of these.
    pub(crate) caused: u64,
}

pub(crate) fn site_document(site: &SiteUse) -> SiteDocument {
    SiteDocument {
        position: (&site.source).into(),
        access: site.access,
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

/// Kinds of accesses by their words.
pub(crate) mod access_word {
    use relayout_profile::AccessKind;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    const KINDS: [AccessKind; 3] = [AccessKind::Read, AccessKind::Write, AccessKind::ReadWrite];

    pub(crate) fn serialize<S: Serializer>(access: &AccessKind, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(super::access_key(*access))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<AccessKind, D::Error> {
        let word = String::deserialize(from)?;
        let known = { KINDS.into_iter() }.find(|kind| super::access_key(*kind) == word);
        known.ok_or_else(|| D::Error::custom(format!("no kind of access: {word}")))
    }
}
