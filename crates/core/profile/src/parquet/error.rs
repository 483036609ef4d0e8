//! Errors in a profile's files.

use ::parquet::basic::Type as PhysicalType;
use ::parquet::errors::ParquetError;

use super::FORMAT_VERSION;
use crate::validate::InvalidRow;

/// Why files are not a profile that can be used, or a profile cannot be made into files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// Something else, or nothing at all.
    #[error("not a relayout profile: {reason}; {PROFILE_FOLDER}")]
    NotAProfile {
        /// The missing or different part.
        reason: String,
    },
    /// A later format than this version reads.
    #[error(
        "written by a newer relayout (format {found}, this one reads {FORMAT_VERSION}): upgrade"
    )]
    Newer {
        /// The format it is in.
        found: u32,
    },
    /// `meta.json` of a profile, but not as it should be.
    #[error("meta.json of the profile is damaged")]
    Meta(#[source] serde_json::Error),
    /// A table's file is not there.
    #[error("table `{table}` is missing (no {table}.parquet); {RECORD_AGAIN}")]
    MissingTable {
        /// Its name.
        table: &'static str,
    },
    /// `host.json` is damaged.
    #[error("host.json of the profile is damaged")]
    Host(#[source] serde_json::Error),
    /// `meta.json` does not list a table.
    #[error("meta.json does not list table `{table}`")]
    UnlistedTable {
        /// Its name.
        table: &'static str,
    },
    /// A table's file has another length than `meta.json` says.
    #[error("{table}.parquet is {}: {found} bytes of {expected}; {RECORD_AGAIN}", cut_or_grown(*.found, *.expected))]
    Length {
        /// Name of the table.
        table: &'static str,
        /// Bytes there are.
        found: u64,
        /// Bytes there should be.
        expected: u64,
    },
    /// A table's file is not the one that was written.
    #[error(
        "{table}.parquet is corrupt: CRC-32 is {found:08x}, meta.json says {expected:08x}; {RECORD_AGAIN}"
    )]
    Checksum {
        /// Name of the table.
        table: &'static str,
        /// CRC-32 of the file.
        found: u32,
        /// CRC-32 that it should have.
        expected: u32,
    },
    /// A table's file does not decode.
    #[error("{table}.parquet is corrupt")]
    Table {
        /// Name of the table.
        table: &'static str,
        /// Error in the file.
        #[source]
        source: TableError,
    },
    /// A table's rows take more memory than a reader allows.
    #[error("{table}.parquet is too large to read")]
    TooLarge {
        /// Name of the table.
        table: &'static str,
        /// Memory needed and allowed.
        #[source]
        source: TableError,
    },
    /// Rows contradict each other or the metadata.
    #[error(transparent)]
    Invalid(#[from] InvalidRow),
}

/// Remedies, each at the end of a message.
const PROFILE_FOLDER: &str = "a folder that `relayout record` wrote is needed";
const RECORD_AGAIN: &str = "copy the profile again, or record again";
const ALLOW_MORE: &str = "if the profile is to be trusted, allow more with RELAYOUT_PROFILE_GB";

impl FormatError {
    /// Returns the remedy, which stands behind the last semicolon of the message or of its source.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Table { source, .. } | Self::TooLarge { source, .. } => source.remedy(),
            Self::NotAProfile { .. } => Some(PROFILE_FOLDER),
            Self::MissingTable { .. } | Self::Length { .. } | Self::Checksum { .. } => {
                Some(RECORD_AGAIN)
            }
            _ => None,
        }
    }
}

/// Error in one Parquet file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The Parquet library says so.
    #[error("{0}")]
    Parquet(ParquetError),
    /// The Parquet library failed an assertion of its own.
    #[error("the Parquet decoder gave up: {0}")]
    Decoder(String),
    /// A column is not there.
    #[error("column `{column}` is missing")]
    MissingColumn {
        /// Its name.
        column: &'static str,
    },
    /// A column has another type.
    #[error("column `{column}` is {found} (or of other nesting), expected flat {expected}")]
    ColumnType {
        /// Its name.
        column: &'static str,
        /// Physical type found.
        found: PhysicalType,
        /// Physical type expected.
        expected: PhysicalType,
    },
    /// A column is said to be at no place that a file has.
    #[error("column `{column}` is at a negative offset or of negative length")]
    ChunkPlace {
        /// Its name.
        column: String,
    },
    /// A column has fewer values than the table has rows.
    #[error("column `{column}` ends before the table does")]
    ColumnEnds {
        /// Its name.
        column: &'static str,
    },
    /// A value that the column cannot have.
    #[error("column `{column}` cannot hold {found}")]
    Value {
        /// Its name.
        column: &'static str,
        /// The value.
        found: String,
    },
    /// The table has another number of rows than it should.
    #[error("{found} rows, meta.json says {expected}")]
    Rows {
        /// Rows there are, by the file's own footer.
        found: i64,
        /// Rows there should be.
        expected: u64,
    },
    /// The rows take more memory than is allowed for the profile.
    #[error(
        "with its {rows} rows the profile needs {} of memory, and at most {} are allowed for files of this size; {ALLOW_MORE}",
        gigabytes(*.needed), gigabytes(*.limit)
    )]
    TooManyRows {
        /// Rows of the table.
        rows: u64,
        /// Bytes that its rows and those of the tables before it take.
        needed: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// The texts of the rows take more memory than is allowed for the profile.
    #[error(
        "the texts of column `{column}` need more than the {} of memory that are allowed for files of this size; {ALLOW_MORE}",
        gigabytes(*.limit)
    )]
    TooMuchText {
        /// Name of the column.
        column: &'static str,
        /// Bytes allowed.
        limit: u64,
    },
    /// Columns share bytes of the file, or lie outside of it.
    #[error("the columns claim {claimed} bytes of a file of {bytes}")]
    ChunksOverlap {
        /// Bytes of all columns of all row groups.
        claimed: u64,
        /// Bytes of the file.
        bytes: u64,
    },
}

// The message of the Parquet library is the whole message, so it is no cause as well.
impl From<ParquetError> for TableError {
    fn from(error: ParquetError) -> Self {
        Self::Parquet(error)
    }
}

impl TableError {
    /// Returns the remedy, which stands behind the last semicolon of the message.
    pub fn remedy(&self) -> Option<&'static str> {
        self.is_too_large().then_some(ALLOW_MORE)
    }

    /// Returns true if a reader that allows more memory may read the table.
    pub(super) fn is_too_large(&self) -> bool {
        matches!(self, Self::TooManyRows { .. } | Self::TooMuchText { .. })
    }
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.2} GB", bytes as f64 / 1e9)
}

fn cut_or_grown(found: u64, expected: u64) -> &'static str {
    if found < expected {
        "truncated"
    } else {
        "longer than it was written"
    }
}
