//! Rows to a Parquet file.

use std::sync::Arc;

use ::parquet::basic::Compression;
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::Type;

use super::column::AnyColumn;
use super::meta::schema_name;
use super::schema::TableRow;

/// Rows of a row group: few enough that a group's rows stay in the cache while its columns are
/// written one after the other.
pub(super) const GROUP_ROWS: usize = 1 << 17;

/// The bytes of a Parquet file with `rows`.
pub(super) fn write_table<R: TableRow>(rows: &[R]) -> Result<Vec<u8>, ParquetError> {
    let columns = R::columns();
    let fields = columns
        .iter()
        .map(|column| column.schema())
        .collect::<Result<_, _>>()?;
    let schema = Arc::new(
        Type::group_type_builder(R::NAME)
            .with_fields(fields)
            .build()?,
    );
    let mut writer =
        SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties::<R>(&columns)))?;
    for group_rows in rows.chunks(GROUP_ROWS) {
        let mut group = writer.next_row_group()?;
        for column in &columns {
            let mut out = group.next_column()?.ok_or_else(|| {
                ParquetError::General(format!("no writer for column {}", column.name()))
            })?;
            column.write(group_rows, &mut out)?;
            out.close()?;
        }
        group.close()?;
    }
    writer.into_inner()
}

fn properties<R: TableRow>(columns: &[Box<dyn AnyColumn<R>>]) -> WriterProperties {
    let schema = KeyValue::new("schema".to_owned(), schema_name());
    let start = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(concat!("relayout ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(vec![schema]));
    columns
        .iter()
        .fold(start, |properties, column| column.configure(properties))
        .build()
}
