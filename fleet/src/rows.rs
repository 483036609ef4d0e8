//! Rows of a profile, and files of them.

mod profile_rows;

use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::compute::cast;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::FleetError;
use crate::tables::{ColumnKind, DataTable};

pub use profile_rows::{ProfileRows, recording_identity};

/// Value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum CellValue {
    /// Text.
    Text(String),
    /// Integer, or days since 1970-01-01.
    Integer(i64),
    /// Number.
    Number(f64),
    /// No value.
    Missing,
}

impl CellValue {
    /// Returns a count. One that does not fit is the largest that does.
    pub fn count(value: u64) -> Self {
        Self::Integer(i64::try_from(value).unwrap_or(i64::MAX))
    }

    /// Returns a share with 9 digits behind the point. More depend on the order in which parts are added.
    pub fn share(value: f64) -> Self {
        Self::Number((value * 1e9).round() / 1e9)
    }

    /// Returns text.
    pub fn text(value: &str) -> Self {
        Self::Text(value.to_owned())
    }

    /// Returns text, or no value.
    pub fn optional_text(value: Option<&str>) -> Self {
        value.map_or(Self::Missing, Self::text)
    }

    fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    fn as_integer(&self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(*number),
            _ => None,
        }
    }

    fn as_number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }
}

/// A row: a value for each column of its table.
pub type TableRow = Vec<CellValue>;

/// Returns rows as a batch of a table's columns.
///
/// # Errors
/// A value does not fit its column.
pub fn record_batch(table: DataTable, rows: &[TableRow]) -> Result<RecordBatch, FleetError> {
    let kinds = table.columns().into_iter().map(|column| column.kind);
    Ok(RecordBatch::try_new(
        table.schema(),
        columns_of_cells(kinds, rows),
    )?)
}

/// Returns rows as columns of these types. A value of another type is missing.
pub fn columns_of_cells(
    kinds: impl IntoIterator<Item = ColumnKind>,
    rows: &[TableRow],
) -> Vec<ArrayRef> {
    let array = |(index, kind): (usize, ColumnKind)| -> ArrayRef {
        let cells = rows
            .iter()
            .map(|row| row.get(index).unwrap_or(&CellValue::Missing));
        match kind {
            ColumnKind::Text => Arc::new(cells.map(CellValue::as_text).collect::<StringArray>()),
            ColumnKind::Integer => {
                Arc::new(cells.map(CellValue::as_integer).collect::<Int64Array>())
            }
            ColumnKind::Number => {
                Arc::new(cells.map(CellValue::as_number).collect::<Float64Array>())
            }
            ColumnKind::Day => {
                let days = cells.map(|cell| i32::try_from(cell.as_integer()?).ok());
                Arc::new(days.collect::<Date32Array>())
            }
        }
    };
    kinds.into_iter().enumerate().map(array).collect()
}

/// Returns rows of a query over all columns of a table with the types of its files.
///
/// # Errors
/// A column is missing, or of another type.
pub fn table_batch(table: DataTable, batch: &RecordBatch) -> Result<RecordBatch, FleetError> {
    let schema = table.schema();
    let columns = { batch.columns().iter().zip(schema.fields()) }
        .map(|(column, field)| cast(column, field.data_type()))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(RecordBatch::try_new(schema, columns)?)
}

/// Returns the settings of all files.
pub fn writer_properties() -> WriterProperties {
    let level = ZstdLevel::try_new(3).unwrap_or_default();
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_created_by("relayout-fleet".to_owned())
        .build()
}

/// Returns a batch as a Parquet file.
///
/// # Errors
/// The batch cannot be encoded.
pub fn parquet_bytes(batch: &RecordBatch) -> Result<Vec<u8>, FleetError> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(writer_properties()))?;
    writer.write(batch)?;
    writer.close()?;
    Ok(bytes)
}
