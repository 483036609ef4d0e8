//! Answers to questions: tables of rows, as text, CSV, JSON, Parquet or a page.

use arrow::array::RecordBatch;
use arrow::datatypes::{Field, Schema};
use arrow::json::WriterBuilder;
use arrow::json::writer::JsonArray;
use relayout_report::Document as _;
use relayout_report::documents::fleet::{FleetDocument, FleetRow, FleetTable};
use std::sync::Arc;

use crate::FleetError;
use crate::rows::{TableRow, columns_of_cells};
use crate::tables::ColumnKind;

/// Answer to a question.
#[derive(Clone, Debug, Default)]
pub struct FleetAnswer {
    /// Question, as the user would type it after `relayout fleet`.
    pub question: String,
    /// Sentences about what counts.
    pub notes: Vec<String>,
    /// Tables, the main one first.
    pub tables: Vec<AnswerTable>,
}

/// A table of an answer.
#[derive(Clone, Debug)]
pub struct AnswerTable {
    /// Name.
    pub name: String,
    /// Rows.
    pub batches: Vec<RecordBatch>,
}

/// Column of an answer.
pub type AnswerColumn = (&'static str, ColumnKind);

impl AnswerTable {
    /// Makes a table of rows, with a value for each column.
    ///
    /// # Errors
    /// A value does not fit its column.
    pub fn from_rows(
        name: &str,
        columns: &[AnswerColumn],
        rows: &[TableRow],
    ) -> Result<Self, FleetError> {
        let fields = columns
            .iter()
            .map(|(name, kind)| Field::new(*name, kind.data_type(), true));
        let schema = Schema::new(fields.collect::<Vec<_>>());
        let kinds = columns.iter().map(|(_, kind)| *kind);
        let batch = RecordBatch::try_new(Arc::new(schema), columns_of_cells(kinds, rows))?;
        Ok(Self {
            name: name.to_owned(),
            batches: vec![batch],
        })
    }

    /// Returns the rows as JSON.
    ///
    /// # Errors
    /// A value has no form in JSON.
    pub fn json_rows(&self) -> Result<Vec<FleetRow>, FleetError> {
        let mut bytes = Vec::new();
        let builder = WriterBuilder::new().with_explicit_nulls(true);
        let mut writer = builder.build::<_, JsonArray>(&mut bytes);
        for batch in &self.batches {
            writer.write(batch)?;
        }
        writer.finish()?;
        if bytes.is_empty() {
            return Ok(Vec::new());
        }
        serde_json::from_slice(&bytes)
            .map_err(|error| arrow::error::ArrowError::JsonError(error.to_string()).into())
    }
}

impl FleetAnswer {
    /// Returns the answer as a document about a data set.
    ///
    /// # Errors
    /// A value has no form in JSON.
    pub fn document(&self, data_set: &str, recordings: usize) -> Result<FleetDocument, FleetError> {
        let tables = { self.tables.iter() }.map(|table| {
            Ok(FleetTable {
                name: table.name.clone(),
                rows: table.json_rows()?,
            })
        });
        Ok(FleetDocument {
            schema: FleetDocument::SCHEMA,
            data_set: data_set.to_owned(),
            question: self.question.clone(),
            recordings: recordings as u64,
            notes: self.notes.clone(),
            tables: tables.collect::<Result<_, FleetError>>()?,
        })
    }
}
