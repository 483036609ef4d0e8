//! A Parquet file to rows.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ::parquet::file::metadata::{
    ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData,
};
use ::parquet::schema::types::SchemaDescriptor;
use bytes::Bytes;

use super::budget::DecodeBudget;
use super::column::{AnyColumn, BATCH_ROWS};
use super::error::TableError;
use super::schema::TableRow;

/// The rows of the Parquet file `bytes`, which must be `expected_rows` and fit into `budget`.
///
/// The library still asserts on some malformed input (numbers that do not end in delta-coded
/// pages); that becomes [`TableError::Decoder`]. Only forged files get there: any other damage
/// fails the checksum first.
pub(super) fn read_table<R: TableRow>(
    bytes: Bytes,
    expected_rows: u64,
    budget: &DecodeBudget,
) -> Result<Vec<R>, TableError> {
    let read = AssertUnwindSafe(|| read_rows(bytes, expected_rows, budget));
    catch_unwind(read).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(TableError::Decoder(
            text.unwrap_or("no reason given").to_owned(),
        ))
    })
}

fn read_rows<R: TableRow>(
    bytes: Bytes,
    expected_rows: u64,
    budget: &DecodeBudget,
) -> Result<Vec<R>, TableError> {
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&bytes)?;
    let found = metadata.file_metadata().num_rows();
    if u64::try_from(found) != Ok(expected_rows) {
        return Err(TableError::Rows {
            found,
            expected: expected_rows,
        });
    }
    budget.charge_rows::<R>(expected_rows)?;
    validate_chunks(&metadata, bytes.len() as u64)?;
    let columns = R::columns();
    let reader = TableReader {
        file: Arc::new(bytes),
        indexes: column_indexes(&columns, metadata.file_metadata().schema_descr())?,
        columns: &columns,
    };
    let mut rows = Vec::with_capacity(expected_rows as usize);
    for group in metadata.row_groups() {
        reader.read_group(group, expected_rows, &mut rows, budget)?;
    }
    if rows.len() as u64 != expected_rows {
        return Err(TableError::Rows {
            found: rows.len() as i64,
            expected: expected_rows,
        });
    }
    Ok(rows)
}

/// The index of each column in the file; `None` for a nullable one that is not there, whose values
/// are then not known. Columns that this version does not know are passed over.
fn column_indexes<R: TableRow>(
    columns: &[Box<dyn AnyColumn<R>>],
    schema: &SchemaDescriptor,
) -> Result<Vec<Option<usize>>, TableError> {
    let column_index = |column: &dyn AnyColumn<R>| {
        let named = |i: &usize| schema.column(*i).path().parts() == [column.name()];
        match (0..schema.num_columns()).find(named) {
            None if !column.is_nullable() => Err(TableError::MissingColumn {
                column: column.name(),
            }),
            index => Ok(index),
        }
    };
    columns
        .iter()
        .map(|column| column_index(column.as_ref()))
        .collect()
}

/// A file and the place of each column in it.
struct TableReader<'c, R> {
    file: Arc<Bytes>,
    columns: &'c [Box<dyn AnyColumn<R>>],
    /// See [`column_indexes`].
    indexes: Vec<Option<usize>>,
}

impl<R: TableRow> TableReader<'_, R> {
    fn read_group(
        &self,
        group: &RowGroupMetaData,
        expected_rows: u64,
        rows: &mut Vec<R>,
        budget: &DecodeBudget,
    ) -> Result<(), TableError> {
        let claimed = group.num_rows();
        let left = expected_rows - rows.len() as u64;
        let group_rows =
            u64::try_from(claimed)
                .ok()
                .filter(|&n| n <= left)
                .ok_or(TableError::Rows {
                    found: claimed,
                    expected: left,
                })?;
        let schema = group.schema_descr();
        let mut sources = self
            .columns
            .iter()
            .zip(&self.indexes)
            .filter_map(|(column, index)| Some((column, (*index)?)))
            .map(|(column, i)| column.open(&schema.column(i), &self.file, group, i))
            .collect::<Result<Vec<_>, _>>()?;
        let end = rows.len() + group_rows as usize;
        while rows.len() < end {
            let start = rows.len();
            rows.resize(end.min(start + BATCH_ROWS), R::blank());
            for source in &mut sources {
                source.fill(&mut rows[start..], budget)?;
            }
        }
        Ok(())
    }
}

/// Chunks must lie in the file, each in bytes of its own: otherwise a small file decodes the same
/// bytes for each of thousands of row groups. The library asserts that no place is negative.
fn validate_chunks(metadata: &ParquetMetaData, file_bytes: u64) -> Result<(), TableError> {
    let mut claimed = 0_u64;
    let groups = metadata.row_groups().iter();
    for chunk in groups.flat_map(RowGroupMetaData::columns) {
        let start = chunk
            .dictionary_page_offset()
            .unwrap_or(chunk.data_page_offset());
        let Ok(bytes) = u64::try_from(chunk.compressed_size()) else {
            return Err(negative_place(chunk));
        };
        if start < 0 {
            return Err(negative_place(chunk));
        }
        claimed = claimed.saturating_add(bytes);
    }
    if claimed > file_bytes {
        return Err(TableError::ChunksOverlap {
            claimed,
            bytes: file_bytes,
        });
    }
    Ok(())
}

fn negative_place(chunk: &ColumnChunkMetaData) -> TableError {
    TableError::ChunkPlace {
        column: chunk.column_path().string(),
    }
}
