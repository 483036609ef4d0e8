//! Removing recordings.

use std::collections::BTreeSet;

use relayout_messages::ProblemReason;

use crate::FleetError;
use crate::answer::{AnswerColumn, AnswerTable, FleetAnswer};
use crate::data_set::DataSet;
use crate::day::Day;
use crate::entry::SetEntry;
use crate::rows::CellValue;
use crate::tables::ColumnKind::{Integer, Text};

const COLUMNS: [AnswerColumn; 5] = [
    ("entry", Text),
    ("date", Text),
    ("recordings", Integer),
    ("files", Integer),
    ("bytes", Integer),
];

/// Entries to remove.
#[derive(Clone, Debug, Default)]
pub struct ForgottenEntries {
    /// Those of days before this one.
    pub before: Option<Day>,
    /// Those of these names.
    pub names: BTreeSet<String>,
}

impl ForgottenEntries {
    /// Returns the entries that would be removed.
    ///
    /// # Errors
    /// The data set has no entry of a name, or it cannot be read.
    pub async fn find(&self, set: &DataSet) -> Result<Vec<SetEntry>, FleetError> {
        let entries = set.read_entries().await?;
        let known: BTreeSet<&String> = entries.iter().map(|entry| &entry.name).collect();
        if let Some(unknown) = self.names.iter().find(|name| !known.contains(name)) {
            let address = &set.address.given;
            let remedy = format!("`relayout fleet forget {address} --before DATE` lists entries");
            let reason = ProblemReason::new(format!("{address} has no entry {unknown}"));
            return Err(FleetError::Usage(reason.with_remedy(remedy)));
        }
        let day = self.before.map(|day| day.to_string());
        let is_old = |entry: &SetEntry| day.as_ref().is_some_and(|day| entry.date < *day);
        Ok({ entries.into_iter() }
            .filter(|entry| is_old(entry) || self.names.contains(&entry.name))
            .collect())
    }
}

/// Removes entries with their files. The entries go first, so that queries never miss a file of one.
///
/// # Errors
/// The store fails.
pub async fn forget(set: &DataSet, entries: &[SetEntry]) -> Result<(), FleetError> {
    set.remove(entries.iter().map(SetEntry::path).collect())
        .await?;
    let files = entries.iter().flat_map(|entry| &entry.files);
    set.remove(files.map(|file| file.path.clone()).collect())
        .await
}

/// Returns entries as a table.
///
/// # Errors
/// A value does not fit its column.
pub fn entries_answer(question: &str, entries: &[SetEntry]) -> Result<FleetAnswer, FleetError> {
    let rows = entries.iter().map(|entry| {
        let bytes = entry.files.iter().map(|file| file.bytes).sum();
        vec![
            CellValue::text(&entry.name),
            CellValue::text(&entry.date),
            CellValue::count(entry.recordings.len() as u64),
            CellValue::count(entry.files.len() as u64),
            CellValue::count(bytes),
        ]
    });
    let rows: Vec<_> = rows.collect();
    Ok(FleetAnswer {
        question: question.to_owned(),
        notes: Vec::new(),
        tables: vec![AnswerTable::from_rows("entries", &COLUMNS, &rows)?],
    })
}
