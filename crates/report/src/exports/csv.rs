//! Tables of a JSON document as CSV files.
//!
//! Every list of objects in a document is a table, and so is every map with free keys. The name of a table is the path of
//! keys to it: `findings.csv`, `findings-members.csv`. The single values of the document itself are in `document.csv`.
//! The columns come from the document's schema, so documents of a kind have the same headers, also where a list is empty.
//! A table has no file where every row of its parent has null, or nothing, in place of the list.
//!
//! A row begins with keys that tie it to the rows that it belongs to: `findings.row`, `findings.rank`. Nested objects are
//! columns (`saving.transfers`), and lists of single values are one cell, as JSON. Files are as RFC 4180 says, in UTF-8.
//!
//! Names come from anybody's files, and spreadsheets compute what begins with `=`. Such a cell gets an apostrophe in
//! front, except for numbers. Characters that hide or reorder text are escaped as in [`escape_text`](crate::escape_text).

mod cells;
mod shape;

use serde_json::Value;

use crate::documents::schema::document_schemas;
use cells::{cell_text, value_at};
use shape::{RowSource, TableShape, table_shapes};

/// Table of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvTable {
    /// Name of its file: `findings-members.csv`.
    pub file_name: String,
    /// Header and rows as CSV.
    pub text: String,
    /// Number of rows without the header.
    pub rows: usize,
}

/// Returns the tables of a JSON document of this program; none for a document of an unknown kind.
///
/// # Errors
/// Those of the CSV writer, which has none to give for texts.
///
/// ```
/// let document = serde_json::json!({
///     "schema": "relayout/report/1",
///     "findings": [{ "rank": 1, "members": [{ "name": "lock", "offset": 8 }] }],
/// });
/// let tables = relayout_report::exports::csv::csv_tables(&document)?;
/// let members = tables.iter().find(|table| table.file_name == "findings-members.csv").unwrap();
///
/// assert!(members.text.starts_with("findings.row,findings.rank,findings.type,row,name,offset,"));
/// assert!(members.text.contains("\r\n1,1,,1,lock,8,"));
/// # Ok::<(), csv::Error>(())
/// ```
pub fn csv_tables(document: &Value) -> Result<Vec<CsvTable>, csv::Error> {
    let kind = document["schema"].as_str();
    let schemas = document_schemas();
    let Some(described) = schemas.iter().find(|described| Some(described.id) == kind) else {
        return Ok(Vec::new());
    };
    let shapes = table_shapes(described.schema.as_value());
    let mut filled = vec![FilledTable::default(); shapes.len()];
    fill_row(&shapes, 0, &[], &[], document, &mut filled);
    mark_unreached(&shapes, &mut filled);
    shapes
        .iter()
        .zip(filled)
        .filter(|(_, table)| table.is_present)
        .map(|(shape, table)| written_table(shape, &table.rows))
        .collect()
}

/// Rows of a table while a document is read.
#[derive(Clone, Debug, Default)]
struct FilledTable {
    rows: Vec<Vec<String>>,
    /// True if the document has its list, which may be empty.
    is_present: bool,
}

/// Marks the tables as present that are below an empty one, whose rows would have them.
fn mark_unreached(shapes: &[TableShape], filled: &mut [FilledTable]) {
    for (index, shape) in shapes.iter().enumerate() {
        if filled[index].is_present && filled[index].rows.is_empty() {
            shape
                .children
                .iter()
                .for_each(|&child| filled[child].is_present = true);
        }
    }
}

/// Adds the row of `value` to the table `index`, and its lists to the tables below.
fn fill_row(
    shapes: &[TableShape],
    index: usize,
    keys: &[String],
    entry_key: &[String],
    value: &Value,
    filled: &mut [FilledTable],
) {
    let shape = &shapes[index];
    let number = filled[index].rows.len() + 1;
    let own_row = shape.has_row_number().then(|| number.to_string());
    let mut row = keys.to_vec();
    row.extend(own_row.iter().chain(entry_key).cloned());
    row.extend({ shape.columns.iter() }.map(|column| cell_text(value_at(value, &column.path))));
    filled[index].rows.push(row);
    filled[index].is_present = true;

    let mut child_keys = keys.to_vec();
    child_keys.extend(own_row);
    child_keys.extend(entry_key.iter().cloned());
    child_keys.extend({ shape.labels() }.map(|label| cell_text(value_at(value, &label.path))));
    for &child in &shape.children {
        let list = value_at(value, &shapes[child].path);
        match (shapes[child].source, list) {
            (RowSource::Items, Some(Value::Array(items))) => {
                filled[child].is_present = true;
                for item in items {
                    fill_row(shapes, child, &child_keys, &[], item, filled);
                }
            }
            (RowSource::Entries, Some(Value::Object(entries))) => {
                filled[child].is_present = true;
                for (key, entry) in entries {
                    let entry_key = [cell_text(Some(&Value::from(key.as_str())))];
                    fill_row(shapes, child, &child_keys, &entry_key, entry, filled);
                }
            }
            _ => {}
        }
    }
}

fn written_table(shape: &TableShape, rows: &[Vec<String>]) -> Result<CsvTable, csv::Error> {
    let mut writer = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(Vec::new());
    writer.write_record(shape.header())?;
    for row in rows {
        writer.write_record(row)?;
    }
    let bytes = writer.into_inner().map_err(|error| error.into_error())?;
    Ok(CsvTable {
        file_name: format!("{}.csv", shape.name),
        text: String::from_utf8_lossy(&bytes).into_owned(),
        rows: rows.len(),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    #[track_caller]
    fn rows_of(document: &Value, file_name: &str) -> Vec<Vec<String>> {
        let tables = csv_tables(document).expect("tables");
        let table = { tables.iter() }.find(|table| table.file_name == file_name);
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .from_reader(table.expect(file_name).text.as_bytes());
        let records = reader
            .records()
            .map(|record| record.expect("a row as long as the header"));
        records
            .map(|record| record.iter().map(str::to_owned).collect())
            .collect()
    }

    #[test]
    fn names_of_files_and_columns_are_unique() {
        for schema in document_schemas() {
            let shapes = table_shapes(schema.schema.as_value());
            let names: BTreeSet<&str> = shapes.iter().map(|shape| &*shape.name).collect();
            assert_eq!(names.len(), shapes.len(), "{}", schema.id);
            for shape in &shapes {
                let header = shape.header();
                let columns: BTreeSet<&String> = header.iter().collect();
                assert_eq!(columns.len(), header.len(), "{}: {header:?}", shape.name);
            }
        }
    }

    #[test]
    fn an_empty_list_has_its_header_and_a_missing_one_no_file() {
        let empty = json!({ "schema": "relayout/report/1", "findings": [] });
        assert_eq!(rows_of(&empty, "findings.csv").len(), 1);
        let members = rows_of(&empty, "findings-members.csv");
        assert_eq!(
            members[0][..4],
            ["findings.row", "findings.rank", "findings.type", "row"]
        );
        let finding = json!({ "schema": "relayout/report/1", "findings": [{ "adjacent": null, "sites": [] }] });
        let tables = csv_tables(&finding).expect("tables");
        let names: Vec<&str> = tables.iter().map(|table| &*table.file_name).collect();
        assert_eq!(
            names,
            ["document.csv", "findings.csv", "findings-sites.csv"]
        );
    }

    #[test]
    fn rows_name_the_rows_that_they_belong_to() {
        let document = json!({
            "schema": "relayout/report/1",
            "findings": [
                { "rank": 3, "type": "a", "allocated": { "f()": 4 }, "pairs": [{ "transfers": 9 }] },
                { "rank": 5, "type": "b", "allocated": { "g()": 6 }, "pairs": [{ "here": { "line": 7 } }] },
            ],
        });
        let allocated = rows_of(&document, "findings-allocated.csv");
        let expect = [
            [
                "findings.row",
                "findings.rank",
                "findings.type",
                "row",
                "key",
                "value",
            ],
            ["1", "3", "a", "1", "f()", "4"],
            ["2", "5", "b", "2", "g()", "6"],
        ];
        assert_eq!(allocated, expect);
        let pairs = rows_of(&document, "findings-pairs.csv");
        let at = |name: &str| pairs[0].iter().position(|column| column == name).unwrap();
        assert_eq!(pairs[1][at("transfers")], "9");
        assert_eq!(pairs[2][at("here.line")], "7");
    }

    #[test]
    fn cells_are_quoted_and_harmless() {
        let document = json!({
            "schema": "relayout/report/1",
            "workload": "=1+1,\"x\"\r\n\u{202e}",
            "findings": [{ "line_offset": -64, "types_path": ["=a", "b"] }],
        });
        let cells = rows_of(&document, "document.csv");
        assert!(cells[1].contains(&"'=1+1,\"x\"\\u{d}\n\\u{202e}".to_owned()));
        let findings = rows_of(&document, "findings.csv");
        assert!(findings[1].contains(&"-64".to_owned()));
        assert!(findings[1].contains(&r#"["=a","b"]"#.to_owned()));
    }

    #[test]
    fn an_unknown_document_has_no_tables() {
        assert_eq!(csv_tables(&json!({ "schema": "x" })).expect("tables"), []);
        assert_eq!(csv_tables(&json!([1])).expect("tables"), []);
    }
}
