//! One column of a table: its place in the schema, and its values to and from the rows' fields.

use std::sync::Arc;

use ::parquet::basic::{Encoding, Repetition, Type as PhysicalType};
use ::parquet::column::reader::ColumnReaderImpl;
use ::parquet::data_type::DataType;
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::RowGroupMetaData;
use ::parquet::file::properties::WriterPropertiesBuilder;
use ::parquet::file::writer::SerializedColumnWriter;
use ::parquet::schema::types::{ColumnDescriptor, ColumnPath, Type, TypePtr};

use bytes::Bytes;

use super::budget::DecodeBudget;
use super::error::TableError;
use super::pages::CheckedPages;
use super::value::{ColumnValue, StoredValue};

/// Rows converted at a time, in both directions.
pub(super) const BATCH_ROWS: usize = 8192;

/// Coding of a column's values before compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnCoding {
    /// Differences, bit-packed: sorted and slowly changing numbers.
    Delta,
    /// Indices into the distinct values: names, sites, anything that repeats.
    Dictionary,
    /// No coding.
    Plain,
}

/// A column of a row type, whatever the type of its field.
pub(super) trait AnyColumn<R>: Sync {
    /// Name in the file, which is the field's.
    fn name(&self) -> &'static str;

    /// Returns whether its values may be unknown.
    fn is_nullable(&self) -> bool;

    /// Its entry in the file's schema.
    fn schema(&self) -> Result<TypePtr, ParquetError>;

    /// Adds its coding to the writer's properties.
    fn configure(&self, properties: WriterPropertiesBuilder) -> WriterPropertiesBuilder;

    /// Appends the field of each row to the column.
    fn write(
        &self,
        rows: &[R],
        writer: &mut SerializedColumnWriter<'_>,
    ) -> Result<(), ParquetError>;

    /// Opens column `index` of a row group, whose place in the schema is `found`.
    fn open<'a>(
        &'a self,
        found: &ColumnDescriptor,
        file: &Arc<Bytes>,
        group: &RowGroupMetaData,
        index: usize,
    ) -> Result<Box<dyn ColumnSource<R> + 'a>, TableError>;
}

/// An open column of a row group.
pub(super) trait ColumnSource<R> {
    /// Sets the field of each of `rows` from the next values. Their texts count against `budget`.
    fn fill(&mut self, rows: &mut [R], budget: &DecodeBudget) -> Result<(), TableError>;
}

/// A column whose field is a `V`.
pub(super) struct TableColumn<R, V> {
    pub(super) name: &'static str,
    pub(super) coding: ColumnCoding,
    pub(super) get: fn(&R) -> &V,
    pub(super) get_mut: fn(&mut R) -> &mut V,
}

impl<R, V: ColumnValue> AnyColumn<R> for TableColumn<R, V> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn is_nullable(&self) -> bool {
        V::NULLABLE
    }

    fn schema(&self) -> Result<TypePtr, ParquetError> {
        let repetition = if V::NULLABLE {
            Repetition::OPTIONAL
        } else {
            Repetition::REQUIRED
        };
        Type::primitive_type_builder(self.name, V::Physical::get_physical_type())
            .with_repetition(repetition)
            .with_logical_type(V::annotation())
            .build()
            .map(Arc::new)
    }

    fn configure(&self, properties: WriterPropertiesBuilder) -> WriterPropertiesBuilder {
        let path = ColumnPath::from(self.name);
        let dictionary = self.coding == ColumnCoding::Dictionary;
        let properties = properties.set_column_dictionary_enabled(path.clone(), dictionary);
        match self.coding {
            ColumnCoding::Delta => {
                properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED)
            }
            ColumnCoding::Dictionary | ColumnCoding::Plain => {
                properties.set_column_encoding(path, Encoding::PLAIN)
            }
        }
    }

    fn write(
        &self,
        rows: &[R],
        writer: &mut SerializedColumnWriter<'_>,
    ) -> Result<(), ParquetError> {
        let writer = writer.typed::<V::Physical>();
        let mut values = Vec::with_capacity(BATCH_ROWS.min(rows.len()));
        let mut levels = Vec::new();
        for batch in rows.chunks(BATCH_ROWS) {
            values.clear();
            values.extend(batch.iter().filter_map(|row| (self.get)(row).to_stored()));
            levels.clear();
            if V::NULLABLE {
                levels.extend(batch.iter().map(|row| definition_level((self.get)(row))));
            }
            writer.write_batch(&values, V::NULLABLE.then_some(&levels[..]), None)?;
        }
        Ok(())
    }

    fn open<'a>(
        &'a self,
        found: &ColumnDescriptor,
        file: &Arc<Bytes>,
        group: &RowGroupMetaData,
        index: usize,
    ) -> Result<Box<dyn ColumnSource<R> + 'a>, TableError> {
        let physical = V::Physical::get_physical_type();
        self.validate_schema(found, physical)?;
        let rows = u64::try_from(group.num_rows()).unwrap_or(0);
        let pages = CheckedPages::open(file, group.column(index), physical, rows)?;
        let reader = ColumnReaderImpl::<V::Physical>::new(
            group.schema_descr().column(index),
            Box::new(pages),
        );
        Ok(Box::new(TypedSource {
            column: self,
            reader,
            values: Vec::new(),
            levels: Vec::new(),
        }))
    }
}

impl<R, V: ColumnValue> TableColumn<R, V> {
    fn validate_schema(
        &self,
        found: &ColumnDescriptor,
        physical: PhysicalType,
    ) -> Result<(), TableError> {
        let expected = (physical, i16::from(V::NULLABLE), 0);
        let found = (
            found.physical_type(),
            found.max_def_level(),
            found.max_rep_level(),
        );
        if found == expected {
            return Ok(());
        }
        Err(TableError::ColumnType {
            column: self.name,
            found: found.0,
            expected: physical,
        })
    }
}

/// The definition level of a field: 1 if there is a value.
fn definition_level<V: ColumnValue>(field: &V) -> i16 {
    i16::from(field.to_stored().is_some())
}

struct TypedSource<'a, R, V: ColumnValue> {
    column: &'a TableColumn<R, V>,
    reader: ColumnReaderImpl<V::Physical>,
    values: Vec<StoredValue<V>>,
    levels: Vec<i16>,
}

impl<R, V: ColumnValue> TypedSource<'_, R, V> {
    fn store_value(
        &self,
        row: &mut R,
        stored: Option<&StoredValue<V>>,
        budget: &DecodeBudget,
    ) -> Result<(), TableError> {
        if let Some(text) = stored.map(V::text_bytes).filter(|&bytes| bytes > 0) {
            budget.charge_text(self.column.name, text)?;
        }
        let value = V::from_stored(stored).ok_or_else(|| TableError::Value {
            column: self.column.name,
            found: display_stored(stored),
        })?;
        *(self.column.get_mut)(row) = value;
        Ok(())
    }
}

impl<R, V: ColumnValue> ColumnSource<R> for TypedSource<'_, R, V> {
    fn fill(&mut self, rows: &mut [R], budget: &DecodeBudget) -> Result<(), TableError> {
        self.values.clear();
        self.levels.clear();
        let levels = V::NULLABLE.then_some(&mut self.levels);
        let (records, found, _) =
            self.reader
                .read_records(rows.len(), levels, None, &mut self.values)?;
        let missing = TableError::ColumnEnds {
            column: self.column.name,
        };
        if records != rows.len() || found != self.values.len() {
            return Err(missing);
        }
        if !V::NULLABLE {
            let pairs = rows.iter_mut().zip(&self.values);
            return pairs
                .into_iter()
                .try_for_each(|(row, value)| self.store_value(row, Some(value), budget));
        }
        let mut values = self.values.iter();
        for (row, &level) in rows.iter_mut().zip(&self.levels) {
            let stored = if level > 0 { values.next() } else { None };
            self.store_value(row, stored, budget)?;
        }
        Ok(())
    }
}

/// A stored value for an error message.
fn display_stored<T: std::fmt::Debug>(stored: Option<&T>) -> String {
    let mut text = stored.map_or_else(|| "null".to_owned(), |value| format!("{value:?}"));
    if let Some((end, _)) = text.char_indices().nth(80) {
        text.truncate(end);
    }
    text
}
