//! Places where a member, a type or a function costs transfers.

use super::RecordingSelection;
use super::cells::{QueryRow, QueryRows};
use super::member_names::{NameScope, NamedMember, name_condition, parse_name, unknown_name};
use super::selected_recordings::SelectedRecordings;
use super::selection::quote;
use crate::FleetError;
use crate::answer::{AnswerColumn, AnswerTable, FleetAnswer};
use crate::engine::QueryEngine;
use crate::rows::CellValue;
use crate::tables::ColumnKind::{Integer, Number, Text};

/// Folders and file of a path that are shown.
const PATH_PARTS: usize = 2;

const PLACES: [AnswerColumn; 7] = [
    ("member", Text),
    ("access", Text),
    ("at", Text),
    ("invalidated_by", Text),
    ("there_at", Text),
    ("recordings", Integer),
    ("transfers", Integer),
];
const WORKLOADS: [AnswerColumn; 6] = [
    ("workload", Text),
    ("cpus", Integer),
    ("release", Text),
    ("recordings", Integer),
    ("mean_share", Number),
    ("transfers", Integer),
];

/// Returns the pairs of instructions that meet on members of a name, or in a function of that name, and the workloads in
/// which they do.
///
/// # Errors
/// A query fails, no recording is selected or recordings of several orders are, or nothing has the name.
pub async fn where_used(
    engine: &QueryEngine,
    name: &str,
    selection: &RecordingSelection,
    limit: usize,
) -> Result<FleetAnswer, FleetError> {
    let selected = selection.condition();
    let recordings = SelectedRecordings::count(engine, selection).await?;
    let pattern = parse_name(name)?;
    let function = quote(name.trim_end_matches("()"));
    let condition = format!(
        "({} OR function = {function} OR other_function = {function}){selected}",
        name_condition(&pattern, NameScope::Wide)
    );
    let places = format!(
        "SELECT type, variable, member, access, function, inlined, file, line, other_member, other_access, \
         other_function, other_inlined, other_file, other_line, SUM(transfers) AS transfers, \
         COUNT(DISTINCT recording) AS recordings FROM meetings WHERE {condition} \
         GROUP BY type, variable, member, access, function, inlined, file, line, other_member, other_access, \
         other_function, other_inlined, other_file, other_line \
         ORDER BY transfers DESC, type, member, function LIMIT {limit}"
    );
    let places = QueryRows::new(engine.query(&places).await?)?;
    if places.iter().next().is_none() {
        return Err(unknown_name(engine, &pattern).await?);
    }
    let workloads = format!(
        "WITH hits AS (SELECT workload, cpus, release, build_id, recording, \
         SUM(CAST(transfers AS DOUBLE) / all_transfers) AS share, SUM(transfers) AS transfers \
         FROM meetings WHERE {condition} GROUP BY workload, cpus, release, build_id, recording) \
         SELECT workload, cpus, release, COUNT(*) AS recordings, SUM(share) AS share_sum, \
         SUM(transfers) AS transfers FROM hits GROUP BY workload, cpus, release \
         ORDER BY share_sum DESC, workload, cpus, release LIMIT {limit}"
    );
    let workloads = QueryRows::new(engine.query(&workloads).await?)?;
    let place_rows: Vec<_> = places.iter().map(|row| place_cells(&row)).collect();
    let workload_rows: Vec<_> = workloads.iter().map(|row| workload_cells(&row)).collect();
    Ok(recordings.note_order(FleetAnswer {
        question: format!("where {name}"),
        notes: vec![
            "Mean share: a part of all transfers of a recording, in the mean over the recordings that have it."
                .to_owned(),
        ],
        tables: vec![
            AnswerTable::from_rows("places", &PLACES, &place_rows)?,
            AnswerTable::from_rows("workloads", &WORKLOADS, &workload_rows)?,
        ],
    }))
}

fn place_cells(row: &QueryRow<'_>) -> Vec<CellValue> {
    let member = NamedMember::of_row(row).full_name();
    let other = format!(
        "{} ({})",
        row.text("other_member"),
        row.text("other_access")
    );
    vec![
        CellValue::Text(member),
        CellValue::Text(row.text("access")),
        CellValue::Text(site_words(row, "")),
        CellValue::Text(other.trim_start().to_owned()),
        CellValue::Text(site_words(row, "other_")),
        CellValue::Integer(row.integer("recordings")),
        CellValue::Integer(row.integer("transfers")),
    ]
}

/// Returns a place in the code: `dput > lockref_put fs/dcache.c:890`.
fn site_words(row: &QueryRow<'_>, prefix: &str) -> String {
    let column = |name: &str| row.text(&format!("{prefix}{name}"));
    let mut words = match column("function").as_str() {
        "" => "unknown".to_owned(),
        function => function.to_owned(),
    };
    let inlined = column("inlined");
    if !inlined.is_empty() {
        words = format!("{words} > {inlined}");
    }
    let file = column("file");
    match (path_end(&file), row.integer(&format!("{prefix}line"))) {
        ("", _) => words,
        (file, 0) => format!("{words} {file}"),
        (file, line) => format!("{words} {file}:{line}"),
    }
}

/// Returns the end of a path. Builds have different folders before it.
fn path_end(path: &str) -> &str {
    let mut slashes = path.rmatch_indices('/').map(|(at, _)| at + 1);
    slashes
        .nth(PATH_PARTS - 1)
        .map_or(path, |start| &path[start..])
}

fn workload_cells(row: &QueryRow<'_>) -> Vec<CellValue> {
    let recordings = row.integer("recordings");
    vec![
        CellValue::Text(row.text("workload")),
        CellValue::Integer(row.integer("cpus")),
        CellValue::Text(row.text("release")),
        CellValue::Integer(recordings),
        CellValue::share(row.number("share_sum") / recordings.max(1) as f64),
        CellValue::Integer(row.integer("transfers")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_paths() {
        assert_eq!(
            path_end("debian/build/cloud-amd64/lib/lockref.c"),
            "lib/lockref.c"
        );
        assert_eq!(path_end("lib/lockref.c"), "lib/lockref.c");
        assert_eq!(path_end(""), "");
    }
}
