//! `meta.json`: what is not a table, and what the tables' files must be.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::FORMAT_VERSION;
use super::error::FormatError;
use crate::model::ProfileMeta;

/// Name of the file.
pub const META_FILE: &str = "meta.json";

const SCHEMA_PREFIX: &str = "relayout/profile/";

/// `relayout/profile/2`
pub(super) fn schema_name() -> String {
    format!("{SCHEMA_PREFIX}{FORMAT_VERSION}")
}

/// The format version that a `meta.json` declares.
///
/// # Errors
/// [`FormatError::NotAProfile`] if it declares none.
pub fn declared_version(meta_json: &[u8]) -> Result<u32, FormatError> {
    #[derive(Deserialize)]
    struct DeclaredSchema {
        schema: String,
    }
    let not_a_profile = |reason| FormatError::NotAProfile { reason };
    let DeclaredSchema { schema } = serde_json::from_slice(meta_json)
        .map_err(|e| not_a_profile(format!("{META_FILE} names no schema ({e})")))?;
    schema
        .strip_prefix(SCHEMA_PREFIX)
        .and_then(|version| version.parse().ok())
        .filter(|&version| version > 0)
        .ok_or_else(|| not_a_profile(format!("schema of {META_FILE} is {schema:?}")))
}

/// The metadata of a profile, without its tables.
///
/// # Errors
/// [`FormatError`] for what is no metadata, or a newer version's.
pub fn parse_meta(meta_json: &[u8]) -> Result<ProfileMeta, FormatError> {
    MetaFile::parse(meta_json).map(|file| file.meta)
}

/// Expected size and checksum of a table's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TableEntry {
    /// Rows.
    pub(super) rows: u64,
    /// Bytes of the file.
    pub(super) bytes: u64,
    /// CRC-32 (IEEE) of the file.
    pub(super) crc32: u32,
}

/// The whole file.
#[derive(Serialize, Deserialize)]
pub(super) struct MetaFile {
    pub(super) schema: String,
    #[serde(flatten)]
    pub(super) meta: ProfileMeta,
    pub(super) tables: BTreeMap<String, TableEntry>,
}

impl MetaFile {
    /// Parses a `meta.json` of a version that this crate reads.
    pub(super) fn parse(meta_json: &[u8]) -> Result<Self, FormatError> {
        let found = declared_version(meta_json)?;
        if found > FORMAT_VERSION {
            return Err(FormatError::Newer { found });
        }
        serde_json::from_slice(meta_json).map_err(FormatError::Meta)
    }

    /// The file's bytes.
    pub(super) fn to_json(&self) -> Result<Vec<u8>, FormatError> {
        let mut json = serde_json::to_vec_pretty(self).map_err(FormatError::Meta)?;
        json.push(b'\n');
        Ok(json)
    }
}
