//! `relayout fleet tables`

use std::fmt::Write as _;
use std::io::Write as _;

use relayout_fleet::FleetError;
use relayout_fleet::tables::{DataTable, FORMAT_VERSION, TABLE_VIEWS};

/// Describe the tables and views of a data set, with their columns
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the command.
///
/// # Errors
/// Standard output cannot be written.
pub fn run(_args: &Args) -> Result<(), FleetError> {
    match std::io::stdout().write_all(tables_text().as_bytes()) {
        Err(source) if source.kind() != std::io::ErrorKind::BrokenPipe => Err(FleetError::File {
            action: "write",
            path: "standard output".into(),
            source,
        }),
        _ => Ok(()),
    }
}

/// Returns the tables in Markdown, as docs/fleet.md has them.
fn tables_text() -> String {
    let mut text = format!("Format {FORMAT_VERSION}.\n");
    for table in DataTable::ALL {
        let _ = write!(text, "\n### {}\n{}\n\n", table.name(), table.meaning());
        text.push_str("| column | type | meaning |\n| --- | --- | --- |\n");
        for column in table.columns() {
            let optional = if column.is_nullable {
                ", may be null"
            } else {
                ""
            };
            let kind = column.kind.sql_name();
            let _ = writeln!(
                text,
                "| `{}` | {kind}{optional} | {} |",
                column.name, column.meaning
            );
        }
    }
    text.push_str("\n### Views\n\n| view | rows | query |\n| --- | --- | --- |\n");
    for view in TABLE_VIEWS {
        let _ = writeln!(
            text,
            "| `{}` | {} | `{}` |",
            view.name, view.meaning, view.query
        );
    }
    text
}
