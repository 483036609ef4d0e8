//! Answers about a data set of many recordings.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::documents::Document;

/// Row of an answer: values by column.
pub type FleetRow = Map<String, Value>;

/// Answer about a data set, as `relayout fleet` prints it.
#[derive(Serialize, JsonSchema)]
pub struct FleetDocument {
    /// [`Document::SCHEMA`].
    pub schema: &'static str,
    /// Folder or address of the data set.
    pub data_set: String,
    /// Question, as it is typed after `relayout fleet`.
    pub question: String,
    /// Recordings of the data set.
    pub recordings: u64,
    /// Sentences about what counts and what does not.
    pub notes: Vec<String>,
    /// Tables, the main one first; docs/fleet.md describes their columns.
    pub tables: Vec<FleetTable>,
}

/// Table of an answer.
#[derive(Serialize, JsonSchema)]
pub struct FleetTable {
    /// Name.
    pub name: String,
    /// Rows.
    pub rows: Vec<FleetRow>,
}

impl Document for FleetDocument {
    const SCHEMA: &'static str = "relayout/fleet/1";
}
