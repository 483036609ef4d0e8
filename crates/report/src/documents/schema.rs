//! JSON Schemas of all documents, generated from their types.

use schemars::Schema;
use schemars::generate::SchemaSettings;

use super::Document;

/// JSON Schema of a document.
#[derive(Clone, Debug)]
pub struct DocumentSchema {
    /// Name and version of the document.
    pub id: &'static str,
    /// JSON Schema, draft 2020-12.
    pub schema: Schema,
}

impl DocumentSchema {
    fn new<D: Document>() -> Self {
        let settings = SchemaSettings::draft2020_12().for_serialize();
        let mut schema = settings.into_generator().into_root_schema_for::<D>();
        schema.insert("$id".to_owned(), D::SCHEMA.into());
        Self {
            id: D::SCHEMA,
            schema,
        }
    }

    /// Returns the name of the schema's file in `docs/schema`: `relayout-report-1.json`.
    pub fn file_name(&self) -> String {
        format!("{}.json", self.id.replace('/', "-"))
    }

    /// Renders the schema as indented JSON that ends in a line feed.
    ///
    /// # Errors
    /// Those of the serializer, which has none to give for a schema.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let mut text = serde_json::to_string_pretty(&self.schema)?;
        text.push('\n');
        Ok(text)
    }
}

/// Returns the schemas of all documents. A test compares them with the files in `docs/schema`.
pub fn document_schemas() -> Vec<DocumentSchema> {
    vec![
        DocumentSchema::new::<super::report::ReportDocument>(),
        DocumentSchema::new::<super::diff::DiffDocument>(),
        DocumentSchema::new::<super::check::CheckDocument>(),
        DocumentSchema::new::<super::compare::CompareDocument>(),
        DocumentSchema::new::<super::explain::ExplainDocument<'static>>(),
        DocumentSchema::new::<super::advise::AdviseDocument>(),
        DocumentSchema::new::<super::advise::WhatIfDocument>(),
        DocumentSchema::new::<super::show::ShowDocument<'static>>(),
        DocumentSchema::new::<super::fleet::FleetDocument>(),
        DocumentSchema::new::<super::kit::KitResultDocument>(),
        DocumentSchema::new::<super::suite::SuiteDocument>(),
        DocumentSchema::new::<super::tune::TuneDocument>(),
        DocumentSchema::new::<super::verify::VerifyDocument>(),
        DocumentSchema::new::<super::machines::MachinesDocument>(),
        DocumentSchema::new::<super::rates::RatesDocument>(),
        DocumentSchema::new::<relayout_probe::MachineFile>(),
        DocumentSchema::new::<relayout_probe::SimulatedMachineFile>(),
        DocumentSchema::new::<super::rules::RulesDocument>(),
        DocumentSchema::new::<super::doctor::DoctorDocument<'static>>(),
        DocumentSchema::new::<super::error::ErrorDocument>(),
    ]
}
