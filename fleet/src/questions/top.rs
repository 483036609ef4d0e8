//! Members by cost over all recordings.

use std::collections::BTreeMap;

use super::RecordingSelection;
use super::cells::QueryRows;
use super::member_names::NamedMember;
use super::selected_recordings::SelectedRecordings;
use crate::FleetError;
use crate::answer::{AnswerColumn, AnswerTable, FleetAnswer};
use crate::engine::QueryEngine;
use crate::rows::CellValue;
use crate::tables::ColumnKind::{Integer, Number, Text};

const COLUMNS: [AnswerColumn; 8] = [
    ("rank", Integer),
    ("member", Text),
    ("type", Text),
    ("mean_share", Number),
    ("largest_share", Number),
    ("recordings", Integer),
    ("of", Integer),
    ("transfers", Integer),
];

/// Returns the members with the largest mean share of the transfers, over the selected recordings. A recording without
/// transfers on a member counts as 0, so that rare costs do not come first.
///
/// # Errors
/// A query fails, no recording is selected, or recordings of several orders are.
pub async fn top_members(
    engine: &QueryEngine,
    selection: &RecordingSelection,
    limit: usize,
) -> Result<FleetAnswer, FleetError> {
    let condition = selection.condition();
    let recordings = SelectedRecordings::count(engine, selection).await?;
    let total = recordings.count;
    // Numbers are grouped, names are read for the few that remain.
    let ranked = format!(
        "SELECT member_key, SUM(share) AS share_sum, MAX(share) AS largest, COUNT(*) AS recordings, \
         SUM(transfers) AS transfers FROM members WHERE transfers > 0{condition} GROUP BY member_key \
         ORDER BY share_sum DESC, member_key LIMIT {limit}"
    );
    let ranked = QueryRows::new(engine.query(&ranked).await?)?;
    let keys: Vec<String> = ranked
        .iter()
        .map(|row| row.integer("member_key").to_string())
        .collect();
    let names = names_of_keys(engine, &keys).await?;
    let rows = ranked.iter().enumerate().map(|(index, row)| {
        let member = names.get(&row.integer("member_key"));
        vec![
            CellValue::count(index as u64 + 1),
            CellValue::Text(member.map(NamedMember::full_name).unwrap_or_default()),
            CellValue::Text(
                member
                    .map(|member| member.type_name.clone())
                    .unwrap_or_default(),
            ),
            CellValue::share(row.number("share_sum") / total as f64),
            CellValue::share(row.number("largest")),
            CellValue::Integer(row.integer("recordings")),
            CellValue::Integer(total),
            CellValue::Integer(row.integer("transfers")),
        ]
    });
    let rows: Vec<_> = rows.collect();
    Ok(recordings.note_order(FleetAnswer {
        question: "top".to_owned(),
        notes: vec![format!(
            "Mean share: transfers on the member as a part of all transfers of a recording, in the mean over {total} \
             recordings."
        )],
        tables: vec![AnswerTable::from_rows("members", &COLUMNS, &rows)?],
    }))
}

async fn names_of_keys(
    engine: &QueryEngine,
    keys: &[String],
) -> Result<BTreeMap<i64, NamedMember>, FleetError> {
    if keys.is_empty() {
        return Ok(BTreeMap::new());
    }
    let query = format!(
        "SELECT member_key, type, variable, member FROM members WHERE member_key IN ({}) AND transfers > 0 \
         GROUP BY member_key, type, variable, member",
        keys.join(", ")
    );
    let rows = QueryRows::new(engine.query(&query).await?)?;
    Ok({ rows.iter() }
        .map(|row| (row.integer("member_key"), NamedMember::of_row(&row)))
        .collect())
}
