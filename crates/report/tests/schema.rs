//! JSON Schemas in `docs/schema` are generated from the documents' types.
//!
//! `RELAYOUT_UPDATE_SCHEMA=1 cargo test -p relayout-report --test all schema` writes them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use relayout_report::documents::schema::document_schemas;
use serde_json::Value;

#[test]
fn schemas_are_those_of_the_types() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    let update = std::env::var_os("RELAYOUT_UPDATE_SCHEMA").is_some();
    for schema in document_schemas() {
        let path = folder.join(schema.file_name());
        let expected = schema.to_json().expect("a schema is JSON");
        if update {
            fs::create_dir_all(&folder).expect("docs/schema can be made");
            fs::write(&path, &expected).expect("docs/schema can be written");
        }
        let written = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            written == expected,
            "{} differs from the types; RELAYOUT_UPDATE_SCHEMA=1 writes it",
            path.display()
        );
    }
}

/// A script's author reads the schema, so each field says what it means there.
#[test]
fn every_field_of_every_document_is_described() {
    fn undescribed(value: &Value, path: &str, found: &mut Vec<String>) {
        let fields = value.get("properties").and_then(Value::as_object);
        for (name, field) in fields.into_iter().flatten() {
            if field.get("description").is_none() {
                found.push(format!("{path}.{name}"));
            }
        }
        let definitions = value.get("$defs").and_then(Value::as_object);
        for (name, definition) in definitions.into_iter().flatten() {
            undescribed(definition, &format!("{path} {name}"), found);
        }
    }
    let mut found = Vec::new();
    for schema in document_schemas() {
        let value = serde_json::to_value(&schema.schema).expect("a schema is JSON");
        undescribed(&value, schema.id, &mut found);
    }
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn each_document_has_a_schema_id_and_a_file_of_its_own() {
    let schemas = document_schemas();
    let ids: BTreeSet<&str> = schemas.iter().map(|schema| schema.id).collect();
    assert_eq!(ids.len(), schemas.len());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    let names: BTreeSet<String> = schemas.iter().map(|schema| schema.file_name()).collect();
    for entry in fs::read_dir(folder).expect("docs/schema is there") {
        let name = entry.expect("an entry").file_name();
        let name = name.to_string_lossy();
        assert!(
            names.contains(&*name),
            "docs/schema/{name} is of no document"
        );
    }
}
