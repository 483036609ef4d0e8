//! Memory that a profile's rows may take.
//!
//! Repeated values cost nearly nothing in a Parquet file, so a megabyte may hold hundreds of
//! millions of rows. Rows are counted against a budget before they are decoded.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::error::TableError;

/// Bytes that the rows of every profile may take, however small its files are: those of 16 million
/// lines, 1 GiB of touched memory, or of eight recordings' bursts.
const ALWAYS_ALLOWED_BYTES: u64 = 1 << 30;

/// Bytes that rows may take for each byte of the files, beyond that. Recordings with that many rows
/// need 7 to 20.
const BYTES_PER_FILE_BYTE: u64 = 256;

/// Bytes that are left for rows and their texts, of all tables together.
#[derive(Debug)]
pub(super) struct DecodeBudget {
    limit: u64,
    left: AtomicU64,
}

impl DecodeBudget {
    /// The budget of a profile whose files have `file_bytes`.
    pub(super) fn for_files(file_bytes: u64) -> Self {
        Self::with_limit(ALWAYS_ALLOWED_BYTES.max(file_bytes.saturating_mul(BYTES_PER_FILE_BYTE)))
    }

    pub(super) fn with_limit(limit: u64) -> Self {
        Self {
            limit,
            left: AtomicU64::new(limit),
        }
    }

    /// Takes the bytes of `rows` rows, without their texts.
    pub(super) fn charge_rows<R>(&self, rows: u64) -> Result<(), TableError> {
        let bytes = rows.saturating_mul(size_of::<R>() as u64);
        self.charge(bytes).ok_or_else(|| TableError::TooManyRows {
            rows,
            needed: (self.limit - self.left.load(Relaxed)).saturating_add(bytes),
            limit: self.limit,
        })
    }

    /// Takes the bytes of a text of `column`.
    pub(super) fn charge_text(&self, column: &'static str, bytes: usize) -> Result<(), TableError> {
        let limit = self.limit;
        self.charge(bytes as u64)
            .ok_or(TableError::TooMuchText { column, limit })
    }

    fn charge(&self, bytes: u64) -> Option<()> {
        let take = |left: u64| left.checked_sub(bytes);
        let taken = self.left.fetch_update(Relaxed, Relaxed, take);
        taken.ok().map(|_| ())
    }
}
