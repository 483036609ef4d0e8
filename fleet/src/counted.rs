//! Files of a data set that count in queries, each recording once.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::FleetError;
use crate::data_set::DataSet;
use crate::entry::{RowFile, SetEntry};
use crate::recording_id::RecordingId;
use crate::tables::DataTable;

/// Files of a table, and what is left out of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CountedFiles {
    /// Files whose rows all count.
    pub whole: Vec<RowFile>,
    /// Files of which some recordings count elsewhere, with those recordings.
    pub partial: Vec<(RowFile, BTreeSet<RecordingId>)>,
}

/// Entries that count. Two commands that ran at once may have added one recording twice, and a command that was
/// interrupted while it joined files leaves the joined ones beside the old ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CountedEntries {
    /// Entries with the recordings to leave out of each.
    pub entries: Vec<(SetEntry, BTreeSet<RecordingId>)>,
    /// Entries all of whose recordings count elsewhere.
    pub superseded: Vec<SetEntry>,
}

impl CountedEntries {
    /// Counts each recording in the entry with most recordings that has it.
    pub fn choose(mut entries: Vec<SetEntry>) -> Self {
        entries.sort_by(|a, b| {
            let key = |entry: &SetEntry| {
                (
                    std::cmp::Reverse(entry.recordings.len()),
                    entry.name.clone(),
                )
            };
            key(a).cmp(&key(b))
        });
        let mut counted = Self::default();
        let mut seen: HashSet<RecordingId> = HashSet::new();
        for entry in entries {
            let repeated: BTreeSet<RecordingId> = { entry.recordings.iter() }
                .filter(|id| seen.contains(id))
                .copied()
                .collect();
            if repeated.len() == entry.recordings.len() {
                counted.superseded.push(entry);
                continue;
            }
            seen.extend(&entry.recordings);
            counted.entries.push((entry, repeated));
        }
        counted
    }

    /// Returns the number of recordings.
    pub fn recordings(&self) -> usize {
        let counts = { self.entries.iter() }
            .map(|(entry, repeated)| entry.recordings.len() - repeated.len());
        counts.sum()
    }

    /// Returns the files of a table.
    pub fn files(&self, table: DataTable) -> CountedFiles {
        let mut files = CountedFiles::default();
        for (entry, repeated) in &self.entries {
            for file in entry.files_of(table) {
                // Layouts are of builds, not of recordings.
                match repeated.is_empty() || table == DataTable::Layouts {
                    true => files.whole.push(file.clone()),
                    false => files.partial.push((file.clone(), repeated.clone())),
                }
            }
        }
        files
    }
}

/// Bytes of the files that are there.
#[derive(Debug)]
pub struct StoredSizes<'s> {
    set: &'s DataSet,
    bytes: BTreeMap<String, u64>,
}

impl<'s> StoredSizes<'s> {
    /// Lists the files of all tables.
    ///
    /// # Errors
    /// The store fails.
    pub async fn list(set: &'s DataSet) -> Result<Self, FleetError> {
        let mut bytes = BTreeMap::new();
        for table in DataTable::ALL {
            bytes.extend(set.list(table.name()).await?);
        }
        Ok(Self { set, bytes })
    }

    /// Returns the number of files.
    pub fn files(&self) -> usize {
        self.bytes.len()
    }

    /// Verifies that the files of an entry have the length that they were written with.
    ///
    /// # Errors
    /// A file is missing or has another length.
    pub fn verify(&self, entry: &SetEntry) -> Result<(), FleetError> {
        for file in &entry.files {
            let reason = match self.bytes.get(&file.path) {
                Some(bytes) if *bytes == file.bytes => continue,
                Some(bytes) => format!("it has {bytes} bytes, and was written with {}", file.bytes),
                None => "it is missing".to_owned(),
            };
            return Err(FleetError::DamagedFile {
                path: format!("{}/{}", self.set.address.given, file.path),
                reason,
                entry: entry.name.clone(),
                recordings: entry.recordings.len(),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, recordings: &[u64]) -> SetEntry {
        SetEntry {
            name: name.to_owned(),
            date: "2026-11-27".to_owned(),
            recordings: recordings.iter().copied().map(RecordingId).collect(),
            files: vec![RowFile {
                table: "members".to_owned(),
                path: format!("members/{name}.parquet"),
                bytes: 1,
                rows: 1,
            }],
        }
    }

    #[test]
    fn each_recording_counts_once() {
        let counted = CountedEntries::choose(vec![
            entry("a", &[1]),
            entry("b", &[2, 3]),
            entry("joined", &[1, 2, 4]),
        ]);
        assert_eq!(counted.recordings(), 4);
        assert_eq!(counted.superseded.len(), 1);
        let files = counted.files(DataTable::Members);
        assert_eq!(files.whole.len(), 1);
        assert_eq!(files.partial.len(), 1);
        assert_eq!(files.partial[0].1, BTreeSet::from([RecordingId(2)]));
    }
}
