//! Tables and columns of a document, from its JSON Schema.

use serde_json::{Map, Value};

/// Levels of objects and lists that are taken apart; a deeper value is one cell, as JSON.
const DEPTH_MAX: usize = 12;
/// Columns that name a row of a table, in the tables below it.
const LABELS: [&str; 3] = ["rank", "name", "type"];

/// Shape of a table.
#[derive(Debug)]
pub(super) struct TableShape {
    /// Keys from the document to the table: `findings-members`.
    pub name: String,
    /// Keys from a row of the parent's table to the list.
    pub path: Vec<String>,
    pub source: RowSource,
    /// Columns that tie a row to the rows that it belongs to.
    pub key_columns: Vec<String>,
    pub columns: Vec<ColumnShape>,
    /// Numbers of the tables of lists in a row.
    pub children: Vec<usize>,
}

/// Value that gives a table its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowSource {
    /// The document itself: one row.
    Root,
    /// A list.
    Items,
    /// A map with free keys.
    Entries,
}

/// Column with a value of the row.
#[derive(Debug)]
pub(super) struct ColumnShape {
    /// Keys from the row to the value; none for the row's value itself.
    pub path: Vec<String>,
}

impl ColumnShape {
    fn header(&self) -> String {
        match self.path.as_slice() {
            [] => "value".to_owned(),
            path => path.join("."),
        }
    }
}

impl TableShape {
    /// Returns false for the document itself, which is one row.
    pub fn has_row_number(&self) -> bool {
        self.source != RowSource::Root
    }

    /// Returns the columns that name a row in the tables below this one.
    pub fn labels(&self) -> impl Iterator<Item = &ColumnShape> {
        let has_labels = self.has_row_number();
        let is_label = move |column: &&ColumnShape| match column.path.as_slice() {
            [key] => has_labels && LABELS.contains(&&**key),
            _ => false,
        };
        self.columns.iter().filter(is_label)
    }

    pub fn header(&self) -> Vec<String> {
        let own = self.own_keys().map(str::to_owned);
        let columns = self.columns.iter().map(ColumnShape::header);
        self.key_columns
            .iter()
            .cloned()
            .chain(own)
            .chain(columns)
            .collect()
    }

    fn own_keys(&self) -> impl Iterator<Item = &'static str> {
        let row = self.has_row_number().then_some("row");
        let key = (self.source == RowSource::Entries).then_some("key");
        row.into_iter().chain(key)
    }

    /// Returns the key columns of the tables below this one.
    fn child_key_columns(&self) -> Vec<String> {
        let own = self.own_keys().map(str::to_owned);
        let labels = self.labels().map(ColumnShape::header);
        let named = own
            .chain(labels)
            .map(|column| format!("{}.{column}", self.name));
        self.key_columns.iter().cloned().chain(named).collect()
    }
}

/// Returns the tables of documents with this schema, the document's own first and each before those below it.
pub(super) fn table_shapes(schema: &Value) -> Vec<TableShape> {
    let mut reader = ShapeReader {
        schema,
        shapes: Vec::new(),
    };
    let root = TableShape {
        name: "document".to_owned(),
        path: Vec::new(),
        source: RowSource::Root,
        key_columns: Vec::new(),
        columns: Vec::new(),
        children: Vec::new(),
    };
    reader.add_table(root, "", schema, 0);
    reader.shapes
}

/// Parts of a value that a schema allows.
enum ValueShape<'s> {
    Single,
    Object(Vec<(&'s str, &'s Value)>),
    List(&'s Value),
    Entries(&'s Value),
}

struct ShapeReader<'s> {
    schema: &'s Value,
    shapes: Vec<TableShape>,
}

/// List that becomes a table below another.
struct ListBelow<'s> {
    path: Vec<String>,
    source: RowSource,
    row_schema: &'s Value,
    depth: usize,
}

impl<'s> ShapeReader<'s> {
    /// Adds a table and those below it. `prefix` is the beginning of their names.
    fn add_table(
        &mut self,
        mut table: TableShape,
        prefix: &str,
        row_schema: &'s Value,
        depth: usize,
    ) -> usize {
        let mut lists = Vec::new();
        self.add_columns(
            row_schema,
            &mut Vec::new(),
            depth,
            &mut table.columns,
            &mut lists,
        );
        let key_columns = table.child_key_columns();
        let index = self.shapes.len();
        self.shapes.push(table);
        for list in lists {
            let name = format!("{prefix}{}", list.path.join("-"));
            let below = TableShape {
                name: name.clone(),
                path: list.path,
                source: list.source,
                key_columns: key_columns.clone(),
                columns: Vec::new(),
                children: Vec::new(),
            };
            let child = self.add_table(below, &format!("{name}-"), list.row_schema, list.depth);
            self.shapes[index].children.push(child);
        }
        index
    }

    /// Adds the columns of a value at `path` in the row, and the lists in it.
    fn add_columns(
        &self,
        schema: &'s Value,
        path: &mut Vec<String>,
        depth: usize,
        columns: &mut Vec<ColumnShape>,
        lists: &mut Vec<ListBelow<'s>>,
    ) {
        let is_row = path.is_empty();
        match self.value_shape(schema) {
            ValueShape::Object(properties) if depth < DEPTH_MAX => {
                for (key, property) in properties {
                    path.push(key.to_owned());
                    self.add_columns(property, path, depth + 1, columns, lists);
                    path.pop();
                }
            }
            ValueShape::List(items)
                if !is_row && depth < DEPTH_MAX && self.has_object_shape(items) =>
            {
                lists.push(ListBelow {
                    path: path.clone(),
                    source: RowSource::Items,
                    row_schema: items,
                    depth: depth + 1,
                });
            }
            ValueShape::Entries(values) if !is_row && depth < DEPTH_MAX => lists.push(ListBelow {
                path: path.clone(),
                source: RowSource::Entries,
                row_schema: values,
                depth: depth + 1,
            }),
            _ => columns.push(ColumnShape { path: path.clone() }),
        }
    }

    fn has_object_shape(&self, schema: &'s Value) -> bool {
        matches!(self.value_shape(schema), ValueShape::Object(_))
    }

    fn value_shape(&self, schema: &'s Value) -> ValueShape<'s> {
        let mut parts = Vec::new();
        self.add_alternatives(schema, 0, &mut parts);
        let mut properties: Vec<(&str, &Value)> = Vec::new();
        for (key, property) in parts.iter().filter_map(|part| members_of(part)).flatten() {
            if properties.iter().all(|(known, _)| *known != key) {
                properties.push((key, property));
            }
        }
        if !properties.is_empty() {
            return ValueShape::Object(properties);
        }
        let find = |key: &str| parts.iter().find_map(|part| part.get(key));
        let is_schema = |value: &&Value| value.is_object();
        match (
            find("items").filter(is_schema),
            find("additionalProperties").filter(is_schema),
        ) {
            (Some(items), _) => ValueShape::List(items),
            (None, Some(values)) => ValueShape::Entries(values),
            (None, None) => ValueShape::Single,
        }
    }

    /// Adds a schema, the one that it refers to, and those of its alternatives.
    fn add_alternatives(&self, schema: &'s Value, depth: usize, parts: &mut Vec<&'s Value>) {
        if depth > DEPTH_MAX {
            return;
        }
        parts.push(schema);
        let pointer = { schema["$ref"].as_str() }.and_then(|reference| reference.strip_prefix('#'));
        let referred = pointer.and_then(|pointer| self.schema.pointer(pointer));
        let alternatives = { ["anyOf", "oneOf", "allOf"].iter() }
            .filter_map(|key| schema[*key].as_array())
            .flatten();
        for alternative in referred.into_iter().chain(alternatives) {
            self.add_alternatives(alternative, depth + 1, parts);
        }
    }
}

fn members_of(schema: &Value) -> Option<impl Iterator<Item = (&str, &Value)>> {
    let properties: &Map<String, Value> = schema["properties"].as_object()?;
    Some(
        properties
            .iter()
            .map(|(key, property)| (key.as_str(), property)),
    )
}
