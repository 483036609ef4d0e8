//! Table of layouts with their costs, and below it their changes.

use std::fmt::Write as _;

use relayout_search::{ChangeInterval, RankedLayout, ScoredLayout};

use crate::words::advice::{PoolView, change_words, given_name, places};
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
    view: &PoolView<'_>,
    today: &ScoredLayout,
    ranked: &[&RankedLayout],
) {
    let rows: Vec<&ScoredLayout> = std::iter::once(today)
        .chain(ranked.iter().map(|ranked| &ranked.scored))
        .collect();
    let per_operation = rows.iter().all(|row| row.per_operation.is_some());
    let unit = match per_operation {
        true => "per operation of the workload",
        false => "recorded in order",
    };
    let _ = writeln!(
        text,
        "Events {unit}. both: transfers and upgrades. first, life: transfers that are false \
         by\nfirst touch and by lifetime. *: no layout beats it in transfers, bytes and members moved.\n"
    );
    let names = layout_names(&rows);
    let ranks = std::iter::once(None).chain(ranked.iter().map(Some));
    let cells: Vec<[String; 12]> = (rows.iter().zip(ranks).zip(&names))
        .map(|((row, rank), name)| row_cells(row, rank.copied(), name, per_operation))
        .collect();
    push_cells(text, &cells);
    text.push('\n');
    if let Some(sentence) = places::mean_sentence(today, &rows) {
        let _ = writeln!(text, "{}\n", wrap_text(&sentence, 0));
    }
    let width = names.iter().map(String::len).max().unwrap_or(0);
    for (row, name) in rows.iter().zip(&names).skip(1) {
        let line = format!("  {name:<width$}  {}", change_words(view, row));
        let _ = writeln!(text, "{}", wrap_text(&line, width + 4));
    }
    text.push('\n');
}

fn layout_names(rows: &[&ScoredLayout]) -> Vec<String> {
    let mut found = 0;
    let mut names = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        names.push(match (&row.name, number) {
            (Some(_), _) => given_name(row).to_owned(),
            (None, 0) => "today".to_owned(),
            (None, _) => {
                found += 1;
                format!("found {found}")
            }
        });
    }
    names
}

fn row_cells(
    row: &ScoredLayout,
    rank: Option<&RankedLayout>,
    name: &str,
    per_operation: bool,
) -> [String; 12] {
    let interval = rank.and_then(|ranked| ranked.interval);
    let [transfers, read, write, upgrades, both, first, life] = event_figures(row, per_operation);
    [
        match rank.is_some_and(|ranked| ranked.pareto) {
            true => "*".to_owned(),
            false => String::new(),
        },
        name.to_owned(),
        row.layout.size.to_string(),
        row.memory.cache.as_deref().unwrap_or("-").to_owned(),
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

fn event_figures(row: &ScoredLayout, per_operation: bool) -> [String; 7] {
    let tally = &row.tally;
    match row.per_operation.filter(|_| per_operation) {
        Some(per) => [
            per.transfers(),
            per.read_transfers,
            per.write_transfers,
            per.upgrades,
            per.transfers() + per.upgrades,
            per.false_first_touch,
            per.false_lifetime,
        ]
        .map(|figure| format!("{figure:.3}")),
        None => [
            tally.transfers(),
            tally.read_transfers,
            tally.write_transfers,
            tally.upgrades,
            tally.transfers() + tally.upgrades,
            tally.false_first_touch,
            tally.false_lifetime,
        ]
        .map(|figure| figure.to_string()),
    }
}

fn interval_cell(interval: ChangeInterval) -> String {
    let percent = |ratio: f64| ratio * 100.0;
    format!(
        " {:+.1}% ({:+.1} to {:+.1})",
        percent(interval.change),
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
