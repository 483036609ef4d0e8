//! Values of rows that a query returned.

use arrow::array::{Array, AsArray as _, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type};

use crate::FleetError;

/// Rows of a query, by the names of their columns.
pub struct QueryRows {
    batches: Vec<RecordBatch>,
}

/// Row of a query.
pub struct QueryRow<'b> {
    batch: &'b RecordBatch,
    index: usize,
}

impl QueryRows {
    /// Takes the rows of a query. Numbers and texts become those of one type.
    pub fn new(batches: Vec<RecordBatch>) -> Result<Self, FleetError> {
        let batches = batches.into_iter().map(|batch| {
            let columns = batch
                .columns()
                .iter()
                .map(|column| match column.data_type() {
                    kind if kind.is_integer() => cast(column, &DataType::Int64),
                    kind if kind.is_floating() => cast(column, &DataType::Float64),
                    _ => cast(column, &DataType::Utf8),
                });
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            let names = batch.schema();
            let named = names.fields().iter().zip(columns);
            RecordBatch::try_from_iter_with_nullable(
                named.map(|(field, column)| (field.name().clone(), column, true)),
            )
        });
        Ok(Self {
            batches: batches.collect::<Result<_, _>>()?,
        })
    }

    /// Returns all rows.
    pub fn iter(&self) -> impl Iterator<Item = QueryRow<'_>> {
        self.batches
            .iter()
            .flat_map(|batch| (0..batch.num_rows()).map(move |index| QueryRow { batch, index }))
    }
}

impl QueryRow<'_> {
    fn column(&self, name: &str) -> &dyn Array {
        let column = self.batch.column_by_name(name);
        column.expect("the query has the column").as_ref()
    }

    /// Returns a text, empty if it is missing.
    pub fn text(&self, name: &str) -> String {
        let column = self.column(name);
        match column.is_null(self.index) {
            true => String::new(),
            false => column.as_string::<i32>().value(self.index).to_owned(),
        }
    }

    /// Returns an integer, 0 if it is missing.
    pub fn integer(&self, name: &str) -> i64 {
        self.optional_integer(name).unwrap_or(0)
    }

    /// Returns an integer.
    pub fn optional_integer(&self, name: &str) -> Option<i64> {
        let column = self.column(name);
        (!column.is_null(self.index)).then(|| column.as_primitive::<Int64Type>().value(self.index))
    }

    /// Returns a number, 0 if it is missing.
    pub fn number(&self, name: &str) -> f64 {
        let column = self.column(name);
        match column.is_null(self.index) {
            true => 0.0,
            false => column.as_primitive::<Float64Type>().value(self.index),
        }
    }
}
