//! The profile as files: `meta.json` and one Parquet file per table.
//!
//! [`encode`] and [`decode`] turn a [`Profile`] into named bytes and back; [`crate::store`] puts
//! them into a folder. `docs/profile-format.md` describes the files for other tools.
//!
//! A table is described once, in `schema`, by the name and coding of its columns; `value` says how
//! a field type is stored. Writing and reading are generic over that.

mod column;
mod error;
mod meta;
mod pages;
mod read;
mod schema;
mod value;
mod write;

use std::collections::BTreeMap;

use bytes::Bytes;

pub use self::error::{FormatError, TableError};
pub use self::meta::{FORMAT_VERSION, META_FILE, declared_version};

use self::meta::{MetaFile, TableEntry};
use self::schema::{SiteRow, Table};
use crate::check;
use crate::model::{
    BurstRow, ConflictRow, CountRow, LineRow, Meta, PairRow, Profile, RangeRow, RegionRow, Site,
};

/// Tables that older profiles have not: none of their rows were recorded then.
const ADDED: [&str; 1] = [PairRow::NAME];

/// Files by name.
pub type Files = BTreeMap<String, Vec<u8>>;

/// Names of the tables.
const TABLES: [&str; 8] = [
    SiteRow::NAME,
    LineRow::NAME,
    CountRow::NAME,
    ConflictRow::NAME,
    PairRow::NAME,
    BurstRow::NAME,
    RegionRow::NAME,
    RangeRow::NAME,
];

/// Names of the files of a profile, `meta.json` first.
pub fn file_names() -> impl Iterator<Item = String> {
    std::iter::once(META_FILE.to_owned()).chain(TABLES.into_iter().map(file_name))
}

/// The files of `profile`.
///
/// # Errors
/// [`FormatError::Invalid`] for a profile that [`decode`] would refuse; the first bad row is named.
pub fn encode(profile: &Profile) -> Result<Files, FormatError> {
    check::check(profile)?;
    let mut out = Encoder::default();
    out.table(&numbered(&profile.sites))?;
    out.table(&profile.lines)?;
    out.table(&profile.counts)?;
    out.table(&profile.conflicts)?;
    out.table(&profile.pairs)?;
    out.table(&profile.bursts)?;
    out.table(&profile.regions)?;
    out.table(&profile.ranges)?;
    let meta = MetaFile {
        schema: meta::schema_name(),
        meta: profile.meta.clone(),
        tables: out.entries,
    };
    out.files.insert(META_FILE.to_owned(), meta.to_json()?);
    Ok(out.files)
}

/// The profile that `files` hold. Files of other names are passed over.
///
/// # Errors
/// Any [`FormatError`]; never a panic, and never memory out of proportion to the files' sizes.
pub fn decode(files: Files) -> Result<Profile, FormatError> {
    let (meta, mut from) = Decoder::open(files)?;
    let profile = Profile {
        meta,
        sites: unnumbered(from.table()?)?,
        lines: from.table()?,
        counts: from.table()?,
        conflicts: from.table()?,
        pairs: from.table()?,
        bursts: from.table()?,
        regions: from.table()?,
        ranges: from.table()?,
    };
    check::check(&profile)?;
    Ok(profile)
}

fn file_name(table: &str) -> String {
    format!("{table}.parquet")
}

#[derive(Default)]
struct Encoder {
    files: Files,
    entries: BTreeMap<String, TableEntry>,
}

impl Encoder {
    fn table<R: Table>(&mut self, rows: &[R]) -> Result<(), FormatError> {
        let bytes = write::write_table(rows).map_err(|e| FormatError::Table {
            table: R::NAME,
            source: e.into(),
        })?;
        let entry = TableEntry {
            rows: rows.len() as u64,
            bytes: bytes.len() as u64,
            crc32: crc32fast::hash(&bytes),
        };
        self.entries.insert(R::NAME.to_owned(), entry);
        self.files.insert(file_name(R::NAME), bytes);
        Ok(())
    }
}

/// Files that are those that were written.
struct Decoder {
    files: Files,
    tables: BTreeMap<String, TableEntry>,
}

impl Decoder {
    /// Checks every file against `meta.json` before any is decoded.
    fn open(files: Files) -> Result<(Meta, Self), FormatError> {
        let meta = files
            .get(META_FILE)
            .ok_or_else(|| FormatError::NotAProfile {
                reason: format!("it has no {META_FILE}"),
            })?;
        let MetaFile { meta, tables, .. } = MetaFile::parse(meta)?;
        let decoder = Self { files, tables };
        for table in TABLES {
            if !decoder.is_older_than(table) {
                decoder.check_file(table)?;
            }
        }
        Ok((meta, decoder))
    }

    /// Whether the table is one that the profile could not have yet.
    fn is_older_than(&self, table: &str) -> bool {
        ADDED.contains(&table) && !self.tables.contains_key(table)
    }

    fn check_file(&self, table: &'static str) -> Result<(), FormatError> {
        let entry = self.entry(table)?;
        let missing = FormatError::MissingTable { table };
        let bytes = self.files.get(&file_name(table)).ok_or(missing)?;
        let length = bytes.len() as u64;
        if length != entry.bytes {
            return Err(FormatError::Length {
                table,
                found: length,
                expected: entry.bytes,
            });
        }
        let crc32 = crc32fast::hash(bytes);
        if crc32 != entry.crc32 {
            return Err(FormatError::Checksum {
                table,
                found: crc32,
                expected: entry.crc32,
            });
        }
        Ok(())
    }

    fn entry(&self, table: &'static str) -> Result<TableEntry, FormatError> {
        self.tables
            .get(table)
            .copied()
            .ok_or(FormatError::UnlistedTable { table })
    }

    fn table<R: Table>(&mut self) -> Result<Vec<R>, FormatError> {
        let table = R::NAME;
        if self.is_older_than(table) {
            return Ok(Vec::new());
        }
        let rows = self.entry(table)?.rows;
        let missing = FormatError::MissingTable { table };
        let bytes = self.files.remove(&file_name(table)).ok_or(missing)?;
        read::read_table(Bytes::from(bytes), rows)
            .map_err(|source| FormatError::Table { table, source })
    }
}

fn numbered(sites: &[Site]) -> Vec<SiteRow> {
    let row = |(number, site): (u32, &Site)| SiteRow {
        site: number,
        pc: site.pc,
        bytes: site.bytes.clone(),
    };
    (0..).zip(sites).map(row).collect()
}

fn unnumbered(rows: Vec<SiteRow>) -> Result<Vec<Site>, FormatError> {
    let site = |(number, row): (usize, SiteRow)| {
        if row.site as usize != number {
            return Err(check::Invalid::out_of_order(SiteRow::NAME, number).into());
        }
        Ok(Site {
            pc: row.pc,
            bytes: row.bytes,
        })
    };
    rows.into_iter().enumerate().map(site).collect()
}
