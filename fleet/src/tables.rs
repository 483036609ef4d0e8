//! Tables of a data set: their columns, as files and queries have them.
//!
//! The format has a version ([`FORMAT_VERSION`]), which the data set's mark keeps. A column is added, and its name, type
//! or meaning changes, only with it: an older program would drop a column that it does not know when it joins files.

mod columns;

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

pub use columns::{HOST_ORDER, TABLE_VIEWS, TableView};

/// Version of the tables and of the files that list them. Format 2 added `access_order`, format 3
/// `operations_per_second`.
pub const FORMAT_VERSION: u32 = 3;

/// A table of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DataTable {
    /// Recordings.
    Recordings,
    /// Members, by recording.
    Members,
    /// Pairs of instructions that met on a line, by recording.
    Meetings,
    /// Members of the layouts of the contended types, by build.
    Layouts,
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct TableColumn {
    /// Name.
    pub name: &'static str,
    /// Type of its values.
    pub kind: ColumnKind,
    /// True if a row may have no value.
    pub is_nullable: bool,
    /// Meaning and unit.
    pub meaning: &'static str,
    /// Value of the rows in files of an older format, which lack the column; `None` if all files have it, or a row may have no
    /// value.
    pub older_value: Option<&'static str>,
}

/// Type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Text.
    Text,
    /// Integer of 64 bits.
    Integer,
    /// Number of 64 bits with a fraction.
    Number,
    /// Day.
    Day,
}

impl DataTable {
    /// All tables.
    pub const ALL: [Self; 4] = [
        Self::Recordings,
        Self::Members,
        Self::Meetings,
        Self::Layouts,
    ];

    /// Returns the name in queries, and of the folder with its files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Recordings => "recordings",
            Self::Members => "members",
            Self::Meetings => "meetings",
            Self::Layouts => "layouts",
        }
    }

    /// Returns the table of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.name() == name)
    }

    /// Returns a sentence about its rows.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Recordings => "One row for each complete recording.",
            Self::Members => {
                "One row for each member of a contended line, in each recording. A hole of a type is a member without name."
            }
            Self::Meetings => {
                "One row for each pair of instructions and members that met in transfers, in each recording."
            }
            Self::Layouts => {
                "One row for each member of each type with at least 0.1% of a recording's transfers, in each build. A profile adds its \
                 own; `compact` keeps each layout of a day once."
            }
        }
    }

    /// Returns its columns, in order.
    pub fn columns(self) -> Vec<TableColumn> {
        columns::columns_of(self)
    }

    /// Returns the columns by which the rows of a file are sorted.
    pub fn sort_columns(self) -> &'static [&'static str] {
        match self {
            Self::Recordings => &["release", "build_id", "workload", "recording"],
            Self::Members | Self::Meetings => &["type", "variable", "member", "recording"],
            Self::Layouts => &["type", "build_id", "release", "position"],
        }
    }

    /// Returns the schema of its files.
    pub fn schema(self) -> SchemaRef {
        let field = |column: TableColumn| {
            Field::new(column.name, column.kind.data_type(), column.is_nullable)
        };
        let fields: Vec<Field> = self.columns().into_iter().map(field).collect();
        Arc::new(Schema::new(fields))
    }
}

impl ColumnKind {
    /// Returns the type in files.
    pub fn data_type(self) -> DataType {
        match self {
            Self::Text => DataType::Utf8,
            Self::Integer => DataType::Int64,
            Self::Number => DataType::Float64,
            Self::Day => DataType::Date32,
        }
    }

    /// Returns the type's name in queries.
    pub fn sql_name(self) -> &'static str {
        match self {
            Self::Text => "VARCHAR",
            Self::Integer => "BIGINT",
            Self::Number => "DOUBLE",
            Self::Day => "DATE",
        }
    }
}
