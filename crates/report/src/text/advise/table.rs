//! Table of layouts with their costs, and below it their changes.

use std::fmt::Write as _;

use crate::documents::advise::candidate::{CandidateDocument, IntervalDocument, LayoutDocument};
use crate::words::wrap::wrap_text;

const COLUMN_TITLES: [&str; 12] = [
    "",
    "layout",
    "size",
    "slab class",
    "transfers",
    "read",
    "write",
    "upgrades",
    "both",
    "first",
    "life",
    " change of transfers (95%)",
];

/// Columns of text; the others hold numbers.
const TEXT_COLUMNS: [usize; 4] = [0, 1, 3, 11];

/// Appends the table of `today` and `ranked` layouts, with events per operation where the workload
/// marks operations.
pub(crate) fn push_layout_table(
    text: &mut String,
    today: &LayoutDocument,
    ranked: &[&CandidateDocument],
) {
    let layouts = ranked.iter().map(|ranked| &ranked.layout);
    let per_operation =
        { std::iter::once(today).chain(layouts) }.all(|layout| layout.per_operation.is_some());
    let unit = match per_operation {
        true => "per operation of the workload",
        false => "recorded in order",
    };
    let key = format!(
        "Events {unit}. both: transfers and upgrades. first, life: transfers that are false by first touch and by \
         lifetime. *: no layout beats it in transfers, bytes and members moved."
    );
    let _ = writeln!(text, "{}\n", wrap_text(&key, 0));
    let names = layout_names(ranked);
    let mut cells = vec![row_cells(today, None, "today", per_operation)];
    cells.extend(
        { ranked.iter().zip(&names) }
            .map(|(ranked, name)| row_cells(&ranked.layout, Some(*ranked), name, per_operation)),
    );
    push_cells(text, &cells);
    text.push('\n');
    if let Some(sentence) = mean_sentence(today, ranked) {
        let _ = writeln!(text, "{}\n", wrap_text(&sentence, 0));
    }
    let width = names.iter().map(String::len).max().unwrap_or(0);
    let width = width.max("today".len());
    for (ranked, name) in ranked.iter().zip(&names) {
        let line = format!("  {name:<width$}  {}", ranked.edit);
        let _ = writeln!(text, "{}", wrap_text(&line, width + 4));
    }
    text.push('\n');
}

/// Returns the sentence below the table that says where objects lay; `None` where objects have no choice of places.
fn mean_sentence(today: &LayoutDocument, ranked: &[&CandidateDocument]) -> Option<String> {
    let places = { ranked.iter() }.filter_map(|ranked| ranked.places.as_ref());
    let mut counts = places
        .filter(|places| !places.are_recorded)
        .map(|places| places.count);
    let count = match today.transfers_by_place.len() {
        count @ 2.. if !today.places_are_recorded => count,
        _ => counts.next()?,
    };
    Some(format!(
        "Events are means over the {count} places of a line where the allocator can put an object. \
         Where the recorded objects lay, today's layout has {} transfers.",
        today.transfers_as_recorded
    ))
}

fn layout_names(ranked: &[&CandidateDocument]) -> Vec<String> {
    let mut found = 0;
    let names = ranked.iter().map(|ranked| match &ranked.name {
        Some(name) => name.clone(),
        None => {
            found += 1;
            format!("found {found}")
        }
    });
    names.collect()
}

fn row_cells(
    layout: &LayoutDocument,
    ranked: Option<&CandidateDocument>,
    name: &str,
    per_operation: bool,
) -> [String; 12] {
    let interval = ranked.and_then(|ranked| ranked.transfers_change.as_ref());
    let [transfers, read, write, upgrades, both, first, life] =
        event_figures(layout, per_operation);
    [
        match ranked.is_some_and(|ranked| ranked.pareto) {
            true => "*".to_owned(),
            false => String::new(),
        },
        name.to_owned(),
        layout.size.to_string(),
        layout.slab_class.as_deref().unwrap_or("-").to_owned(),
        transfers,
        read,
        write,
        upgrades,
        both,
        first,
        life,
        interval.map_or(String::new(), interval_cell),
    ]
}

fn event_figures(layout: &LayoutDocument, per_operation: bool) -> [String; 7] {
    match layout.per_operation.as_ref().filter(|_| per_operation) {
        Some(per) => [
            per.transfers,
            per.read_transfers,
            per.write_transfers,
            per.upgrades,
            per.transfers + per.upgrades,
            per.false_first_touch,
            per.false_lifetime,
        ]
        .map(|figure| format!("{figure:.3}")),
        None => [
            layout.transfers,
            layout.read_transfers,
            layout.write_transfers,
            layout.upgrades,
            layout.transfers_and_upgrades(),
            layout.false_first_touch,
            layout.false_lifetime,
        ]
        .map(|figure| figure.to_string()),
    }
}

fn interval_cell(interval: &IntervalDocument) -> String {
    let percent = |ratio: f64| ratio * 100.0;
    format!(
        " {:+.1}% ({:+.1} to {:+.1})",
        percent(interval.ratio),
        percent(interval.low),
        percent(interval.high)
    )
}

fn push_cells(text: &mut String, rows: &[[String; 12]]) {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].len());
        cells.max().unwrap_or(0).max(COLUMN_TITLES[column].len())
    };
    let titles = COLUMN_TITLES.map(str::to_owned);
    for row in std::iter::once(&titles).chain(rows) {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let width = match column {
                0 => 1,
                _ => width(column),
            };
            let _ = match TEXT_COLUMNS.contains(&column) {
                true => write!(line, "{cell:<width$} "),
                false => write!(line, "{cell:>width$} "),
            };
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
}
