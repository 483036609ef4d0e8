//! JSON documents: each has a name with a version, and a JSON Schema that is generated from its
//! type.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;

use crate::escape::json_text;

/// A JSON document. Its first key is `schema`, with the value [`Document::SCHEMA`].
pub trait Document: Serialize + JsonSchema {
    /// Name and version, such as `relayout/report/1`. A change of a key or of its meaning needs a
    /// new version.
    const SCHEMA: &'static str;

    /// Renders the document as indented JSON that ends in a line feed.
    ///
    /// # Errors
    /// Those of the serializer, which has none to give for these types.
    fn to_json(&self) -> Result<String, serde_json::Error> {
        let mut text = json_text(self, true)?;
        text.push('\n');
        Ok(text)
    }
}

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
        DocumentSchema::new::<crate::json::ReportDocument<'static>>(),
        DocumentSchema::new::<crate::diff::DiffDocument>(),
        DocumentSchema::new::<crate::check::CheckDocument<'static>>(),
        DocumentSchema::new::<crate::explain::ExplainDocument<'static>>(),
        DocumentSchema::new::<crate::advise::AdviseDocument<'static>>(),
        DocumentSchema::new::<crate::advise::WhatIfDocument<'static>>(),
        DocumentSchema::new::<crate::show::ShowDocument<'static>>(),
        DocumentSchema::new::<crate::verify::VerifyDocument<'static>>(),
    ]
}
