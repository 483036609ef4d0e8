//! Entries of a data set: each lists the files of one profile, or of many that were joined.
//!
//! An entry is written after all its files. So a profile is in the data set whole or not at all, and files of no entry
//! are what an interrupted command left behind.

use std::collections::BTreeSet;

use relayout_files::fnv1a;
use serde::{Deserialize, Serialize};

use crate::recording_id::RecordingId;
use crate::tables::DataTable;

/// Folder with the entries.
pub const ENTRY_FOLDER: &str = "entries";

/// Recordings of a profile, with the files that hold their rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetEntry {
    /// Name, without folder and ending.
    #[serde(skip)]
    pub name: String,
    /// Day of the profile: `2026-11-27`.
    pub date: String,
    /// Identities of the recordings.
    pub recordings: BTreeSet<RecordingId>,
    /// Files.
    pub files: Vec<RowFile>,
}

/// File with rows of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowFile {
    /// Name of the table.
    pub table: String,
    /// Path in the data set.
    pub path: String,
    /// Bytes.
    pub bytes: u64,
    /// Rows.
    pub rows: u64,
}

impl SetEntry {
    /// Returns its path in the data set.
    pub fn path(&self) -> String {
        entry_path(&self.name)
    }

    /// Returns its files of a table.
    pub fn files_of(&self, table: DataTable) -> impl Iterator<Item = &RowFile> {
        self.files
            .iter()
            .filter(move |file| file.table == table.name())
    }
}

/// Returns the path of an entry in the data set.
pub fn entry_path(name: &str) -> String {
    format!("{ENTRY_FOLDER}/{name}.json")
}

/// Returns the name of the entry at a path in the data set; `None` for other files.
pub fn entry_name(path: &str) -> Option<&str> {
    path.strip_prefix(ENTRY_FOLDER)?
        .strip_prefix('/')?
        .strip_suffix(".json")
}

/// Returns a number that stands for some texts: FNV-1a of 64 bits.
pub fn text_hash<'t>(parts: impl IntoIterator<Item = &'t str>) -> u64 {
    let mut bytes = Vec::new();
    for part in parts {
        bytes.extend_from_slice(part.as_bytes());
        // No text holds it, so `ab` and `c` are not `a` and `bc`.
        bytes.push(0xff);
    }
    fnv1a(&bytes)
}
