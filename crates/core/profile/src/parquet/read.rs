//! A Parquet file to rows.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ::parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::schema::types::SchemaDescriptor;
use bytes::Bytes;

use super::column::{AnyColumn, BATCH_ROWS};
use super::error::TableError;
use super::schema::TableRow;

/// Most rows for each byte of a file. The writer ends a page after 20,000 rows, and each column has
/// pages of its own with headers of some 20 bytes, so that a real file stays far below.
const ROWS_PER_BYTE_MAX: u64 = 1024;

/// The rows of the Parquet file `bytes`, which must be `expected_rows`.
///
/// The library still asserts on some malformed input (numbers that do not end in delta-coded
/// pages); that becomes [`TableError::Decoder`]. Only forged files get there: any other damage
/// fails the checksum first.
pub(super) fn read_table<R: TableRow>(
    bytes: Bytes,
    expected_rows: u64,
) -> Result<Vec<R>, TableError> {
    catch_unwind(AssertUnwindSafe(|| read_rows(bytes, expected_rows))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(TableError::Decoder(
            text.unwrap_or("no reason given").to_owned(),
        ))
    })
}

fn read_rows<R: TableRow>(bytes: Bytes, expected_rows: u64) -> Result<Vec<R>, TableError> {
    let file_bytes = bytes.len() as u64;
    let reader = SerializedFileReader::new(bytes)?;
    let found = reader.metadata().file_metadata().num_rows();
    if u64::try_from(found) != Ok(expected_rows) {
        return Err(TableError::Rows {
            found,
            expected: expected_rows,
        });
    }
    if expected_rows > file_bytes.saturating_mul(ROWS_PER_BYTE_MAX) {
        return Err(TableError::TooManyRows {
            rows: expected_rows,
            bytes: file_bytes,
        });
    }
    let columns = R::columns();
    let indexes = column_indexes(&columns, reader.metadata().file_metadata().schema_descr())?;
    let mut rows = Vec::new();
    for group in 0..reader.num_row_groups() {
        read_group(&reader, group, &columns, &indexes, expected_rows, &mut rows)?;
    }
    if rows.len() as u64 != expected_rows {
        return Err(TableError::Rows {
            found: rows.len() as i64,
            expected: expected_rows,
        });
    }
    Ok(rows)
}

/// The index of each column in the file. Columns that this version does not know are passed over.
fn column_indexes<R: TableRow>(
    columns: &[Box<dyn AnyColumn<R>>],
    schema: &SchemaDescriptor,
) -> Result<Vec<usize>, TableError> {
    let column_index = |column: &dyn AnyColumn<R>| {
        let named = |i: &usize| schema.column(*i).path().parts() == [column.name()];
        (0..schema.num_columns())
            .find(named)
            .ok_or(TableError::MissingColumn {
                column: column.name(),
            })
    };
    columns
        .iter()
        .map(|column| column_index(column.as_ref()))
        .collect()
}

fn read_group<R: TableRow>(
    reader: &SerializedFileReader<Bytes>,
    group: usize,
    columns: &[Box<dyn AnyColumn<R>>],
    indexes: &[usize],
    expected_rows: u64,
    rows: &mut Vec<R>,
) -> Result<(), TableError> {
    let group = reader.get_row_group(group)?;
    let claimed = group.metadata().num_rows();
    let left = expected_rows - rows.len() as u64;
    let group_rows =
        u64::try_from(claimed)
            .ok()
            .filter(|&n| n <= left)
            .ok_or(TableError::Rows {
                found: claimed,
                expected: left,
            })?;
    validate_chunks(group.metadata())?;
    let schema = group.metadata().schema_descr();
    let mut sources = columns
        .iter()
        .zip(indexes)
        .map(|(column, &i)| column.open(&schema.column(i), group.as_ref(), i))
        .collect::<Result<Vec<_>, _>>()?;
    let end = rows.len() + group_rows as usize;
    while rows.len() < end {
        let start = rows.len();
        rows.resize(end.min(start + BATCH_ROWS), R::blank());
        for source in &mut sources {
            source.fill(&mut rows[start..])?;
        }
    }
    Ok(())
}

/// The library asserts that chunks do not start before the file or have negative lengths.
fn validate_chunks(group: &RowGroupMetaData) -> Result<(), TableError> {
    let negative = |chunk: &&ColumnChunkMetaData| {
        let start = chunk
            .dictionary_page_offset()
            .unwrap_or(chunk.data_page_offset());
        start < 0 || chunk.compressed_size() < 0
    };
    match group.columns().iter().find(negative) {
        Some(chunk) => Err(TableError::ChunkPlace {
            column: chunk.column_path().string(),
        }),
        None => Ok(()),
    }
}
