//! Answers as tables of text.

use std::fmt::Write as _;

use serde_json::Value;

use crate::documents::fleet::{FleetDocument, FleetRow};
use crate::words::percent::signed_percent;

/// Characters of a column. Longer texts are cut in their middle, except in the last column.
const WIDTH_MAX: usize = 60;

/// Renders an answer: each table with a heading, then the notes.
pub fn fleet_text(document: &FleetDocument) -> String {
    let mut text = String::new();
    let has_headings = document.tables.len() > 1;
    for (index, table) in document.tables.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        if has_headings {
            let _ = writeln!(text, "{}", table.name.replace('_', " "));
        }
        add_table(&mut text, &table.rows);
    }
    if !document.notes.is_empty() {
        text.push('\n');
    }
    for note in &document.notes {
        let _ = writeln!(text, "{note}");
    }
    text
}

fn add_table(text: &mut String, rows: &[FleetRow]) {
    let Some(first) = rows.first() else {
        text.push_str("no rows\n");
        return;
    };
    let last = first.keys().next_back();
    let columns: Vec<TextColumn> = { first.keys() }
        .map(|name| TextColumn::new(name, rows, Some(name) != last))
        .collect();
    let mut add_line = |cells: Vec<(&str, &TextColumn)>| {
        let cells = cells.into_iter().map(|(cell, column)| column.pad(cell));
        let line = cells.collect::<Vec<_>>().join("  ");
        let _ = writeln!(text, "{}", line.trim_end());
    };
    add_line(
        { columns.iter() }
            .map(|column| (&*column.head, column))
            .collect(),
    );
    for index in 0..rows.len() {
        add_line(
            { columns.iter() }
                .map(|column| (&*column.cells[index], column))
                .collect(),
        );
    }
}

/// Column of a table of text.
struct TextColumn {
    head: String,
    cells: Vec<String>,
    width: usize,
    is_number: bool,
}

impl TextColumn {
    fn new(name: &str, rows: &[FleetRow], is_cut: bool) -> Self {
        let values = || rows.iter().map(|row| row.get(name).unwrap_or(&Value::Null));
        let shown = |value: &Value| match cell_text(name, value) {
            text if is_cut => cut_middle(&text),
            text => text,
        };
        let cells: Vec<String> = values().map(shown).collect();
        let head = name.replace('_', " ");
        let widths = cells.iter().chain([&head]).map(|cell| cell.chars().count());
        Self {
            width: widths.max().unwrap_or(0),
            is_number: values().any(Value::is_number),
            head,
            cells,
        }
    }

    fn pad(&self, cell: &str) -> String {
        let width = self.width;
        match self.is_number {
            true => format!("{cell:>width$}"),
            false => format!("{cell:width$}"),
        }
    }
}

fn cell_text(column: &str, value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => grouped(whole),
            (None, Some(value)) if column.ends_with("share") => format!("{:.2}%", 100.0 * value),
            (None, Some(value)) if column.ends_with("change") => signed_percent(value),
            (None, Some(value)) => format!("{value:.4}"),
            (None, None) => number.to_string(),
        },
        other => other.to_string(),
    }
}

/// Returns a number with commas: `1,234,567`.
fn grouped(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut text = if value < 0 { "-" } else { "" }.to_owned();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn cut_middle(text: &str) -> String {
    let count = text.chars().count();
    if count <= WIDTH_MAX {
        return text.to_owned();
    }
    let half = (WIDTH_MAX - 3) / 2;
    let start: String = text.chars().take(half).collect();
    let end: String = text.chars().skip(count - half).collect();
    format!("{start}...{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells() {
        assert_eq!(grouped(-1_234_567), "-1,234,567");
        assert_eq!(cell_text("mean_share", &Value::from(0.1234)), "12.34%");
        assert_eq!(cell_text("change", &Value::from(-0.5)), "-50.0%");
        assert_eq!(cell_text("release", &Value::Null), "-");
        assert_eq!(cut_middle(&"x".repeat(100)).chars().count(), 59);
    }
}
