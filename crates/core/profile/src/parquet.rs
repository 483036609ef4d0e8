//! The profile as files: `meta.json` and one Parquet file per table.
//!
//! [`encode`] and [`decode`] turn a [`Profile`] into named bytes and back; [`crate::store`] puts
//! them into a folder. `docs/profile-format.md` describes the files for other tools.
//!
//! A table is described once, in `schema`, by the name and coding of its columns; `value` says how
//! a field type is stored. Writing and reading are generic over that.

mod budget;
mod column;
mod error;
mod host;
mod meta;
mod pages;
mod read;
mod schema;
mod value;
mod write;

use std::collections::BTreeMap;
use std::marker::PhantomData;

use bytes::Bytes;

pub use self::error::{FormatError, TableError};
pub use self::host::HOST_FILE;
pub use self::meta::{META_FILE, declared_version, parse_meta};

use self::budget::DecodeBudget;
use self::host::HostFile;
use self::meta::{MetaFile, TableEntry};
use self::schema::{SiteRow, TableRow};
use crate::ids::SiteId;
use crate::model::{
    BurstRow, ConflictRow, CountRow, LineRow, PairRow, Profile, ProfileMeta, RangeRow, RegionRow,
    Site, VisitRow, WaitRow,
};
use crate::validate;

/// Version of the format that this crate writes, and the newest that it reads.
pub const FORMAT_VERSION: u32 = 2;

/// Tables that older profiles have not: none of their rows were recorded then.
const TABLES_ADDED_LATER: [&str; 3] = [PairRow::NAME, WaitRow::NAME, VisitRow::NAME];

/// Files by name.
pub type ProfileFiles = BTreeMap<String, Vec<u8>>;

/// Names of the tables.
const TABLES: [&str; 10] = [
    SiteRow::NAME,
    LineRow::NAME,
    CountRow::NAME,
    ConflictRow::NAME,
    PairRow::NAME,
    WaitRow::NAME,
    BurstRow::NAME,
    VisitRow::NAME,
    RegionRow::NAME,
    RangeRow::NAME,
];

/// Names of the files that a profile may have, `meta.json` first.
pub fn file_names() -> impl Iterator<Item = String> {
    let tables = TABLES.into_iter().map(file_name);
    [META_FILE.to_owned(), HOST_FILE.to_owned()]
        .into_iter()
        .chain(tables)
}

/// The files of `profile`.
///
/// # Errors
/// [`FormatError::Invalid`] for a profile that [`decode`] would refuse; the first bad row is named.
pub fn encode(profile: &Profile) -> Result<ProfileFiles, FormatError> {
    validate::validate(profile)?;
    let mut encoder = ProfileEncoder::default();
    encoder.add_table(&site_rows(&profile.sites))?;
    encoder.add_table(&profile.lines)?;
    encoder.add_table(&profile.counts)?;
    encoder.add_table(&profile.conflicts)?;
    encoder.add_table(&profile.pairs)?;
    encoder.add_table(&profile.waits)?;
    encoder.add_table(&profile.bursts)?;
    encoder.add_table(&profile.visits)?;
    encoder.add_table(&profile.regions)?;
    encoder.add_table(&profile.ranges)?;
    let mut meta = profile.meta.clone();
    if let Some(host) = HostFile::take_from(&mut meta) {
        encoder.files.insert(HOST_FILE.to_owned(), host.to_json()?);
    }
    let meta = MetaFile {
        schema: meta::schema_name(),
        meta,
        tables: encoder.entries,
    };
    encoder.files.insert(META_FILE.to_owned(), meta.to_json()?);
    Ok(encoder.files)
}

/// The profile that `files` hold. Files of other names are passed over.
///
/// # Errors
/// Any [`FormatError`]; never a panic. Rows take at most 1 GiB, or 256 bytes for each byte of the
/// files if that is more; [`decode_within`] takes another bound.
pub fn decode(files: ProfileFiles) -> Result<Profile, FormatError> {
    let file_bytes = files.values().map(|bytes| bytes.len() as u64).sum();
    decode_with_budget(files, DecodeBudget::for_files(file_bytes))
}

/// The profile that `files` hold, if its rows take at most `rows_bytes_max` bytes of memory.
///
/// # Errors
/// Those of [`decode`].
pub fn decode_within(files: ProfileFiles, rows_bytes_max: u64) -> Result<Profile, FormatError> {
    decode_with_budget(files, DecodeBudget::with_limit(rows_bytes_max))
}

fn decode_with_budget(files: ProfileFiles, budget: DecodeBudget) -> Result<Profile, FormatError> {
    let (meta, mut decoder) = ProfileDecoder::open(files)?;
    let bursts = decoder.take_table::<BurstRow>()?;
    // Bursts take as long to decode as all other tables.
    let (bursts, profile) = rayon::join(
        || bursts.decode(&budget),
        || decoder.decode_other_tables(meta, &budget),
    );
    let profile = Profile {
        bursts: bursts?,
        ..profile?
    };
    validate::validate(&profile)?;
    Ok(profile)
}

fn file_name(table: &str) -> String {
    format!("{table}.parquet")
}

#[derive(Default)]
struct ProfileEncoder {
    files: ProfileFiles,
    entries: BTreeMap<String, TableEntry>,
}

impl ProfileEncoder {
    fn add_table<R: TableRow>(&mut self, rows: &[R]) -> Result<(), FormatError> {
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
struct ProfileDecoder {
    files: ProfileFiles,
    tables: BTreeMap<String, TableEntry>,
}

/// File of a table, not decoded yet.
struct EncodedTable<R> {
    /// `None` in a profile that is older than the table.
    file: Option<(Bytes, TableEntry)>,
    rows: PhantomData<R>,
}

impl<R: TableRow> EncodedTable<R> {
    fn decode(self, budget: &DecodeBudget) -> Result<Vec<R>, FormatError> {
        let Some((bytes, entry)) = self.file else {
            return Ok(Vec::new());
        };
        let table = R::NAME;
        read::read_table(bytes, entry.rows, budget).map_err(|source| {
            if source.is_too_large() {
                FormatError::TooLarge { table, source }
            } else {
                FormatError::Table { table, source }
            }
        })
    }
}

impl ProfileDecoder {
    /// Checks every file against `meta.json` before any is decoded.
    fn open(files: ProfileFiles) -> Result<(ProfileMeta, Self), FormatError> {
        let meta = files
            .get(META_FILE)
            .ok_or_else(|| FormatError::NotAProfile {
                reason: format!("it has no {META_FILE}"),
            })?;
        let MetaFile {
            mut meta, tables, ..
        } = MetaFile::parse(meta)?;
        if let Some(host) = files.get(HOST_FILE) {
            HostFile::parse(host)?.put_into(&mut meta);
        }
        let decoder = Self { files, tables };
        for table in TABLES {
            if !decoder.is_older_than(table) {
                decoder.validate_file(table)?;
            }
        }
        Ok((meta, decoder))
    }

    /// Returns whether the profile is older than the table.
    fn is_older_than(&self, table: &str) -> bool {
        TABLES_ADDED_LATER.contains(&table) && !self.tables.contains_key(table)
    }

    fn validate_file(&self, table: &'static str) -> Result<(), FormatError> {
        let entry = self.table_entry(table)?;
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

    fn table_entry(&self, table: &'static str) -> Result<TableEntry, FormatError> {
        self.tables
            .get(table)
            .copied()
            .ok_or(FormatError::UnlistedTable { table })
    }

    fn take_table<R: TableRow>(&mut self) -> Result<EncodedTable<R>, FormatError> {
        let table = R::NAME;
        let rows = PhantomData;
        if self.is_older_than(table) {
            return Ok(EncodedTable { file: None, rows });
        }
        let entry = self.table_entry(table)?;
        let missing = FormatError::MissingTable { table };
        let bytes = self.files.remove(&file_name(table)).ok_or(missing)?;
        let file = Some((Bytes::from(bytes), entry));
        Ok(EncodedTable { file, rows })
    }

    fn decode_table<R: TableRow>(&mut self, budget: &DecodeBudget) -> Result<Vec<R>, FormatError> {
        self.take_table()?.decode(budget)
    }

    /// Decodes all tables but the bursts.
    fn decode_other_tables(
        mut self,
        meta: ProfileMeta,
        budget: &DecodeBudget,
    ) -> Result<Profile, FormatError> {
        Ok(Profile {
            meta,
            sites: sites_from_rows(self.decode_table(budget)?)?,
            lines: self.decode_table(budget)?,
            counts: self.decode_table(budget)?,
            conflicts: self.decode_table(budget)?,
            pairs: self.decode_table(budget)?,
            waits: self.decode_table(budget)?,
            bursts: Vec::new(),
            visits: self.decode_table(budget)?,
            regions: self.decode_table(budget)?,
            ranges: self.decode_table(budget)?,
        })
    }
}

fn site_rows(sites: &[Site]) -> Vec<SiteRow> {
    let row = |(number, site): (u32, &Site)| SiteRow {
        site: SiteId(number),
        pc: site.pc,
        bytes: site.bytes.clone(),
    };
    (0..).zip(sites).map(row).collect()
}

fn sites_from_rows(rows: Vec<SiteRow>) -> Result<Vec<Site>, FormatError> {
    let site = |(number, row): (usize, SiteRow)| {
        if row.site.index() != number {
            return Err(validate::InvalidRow::out_of_order(SiteRow::NAME, number).into());
        }
        Ok(Site {
            pc: row.pc,
            bytes: row.bytes,
        })
    };
    rows.into_iter().enumerate().map(site).collect()
}
