//! Adding profiles to a data set.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use relayout_messages::{RecordingProgress, UserError};
use relayout_profile::parquet::{META_FILE, parse_meta};
use relayout_profile::{AccessCoverage, ProfileMeta};
use relayout_session::{NamedTraffic, complete_recordings, read_named_traffic};
use relayout_workflows::compare::{ComparedWorkload, refuse_cut_off, refuse_samples};

use crate::FleetError;
use crate::counted::{CountedEntries, StoredSizes};
use crate::data_set::DataSet;
use crate::day::Day;
use crate::entry::{RowFile, SetEntry, text_hash};
use crate::recording_id::RecordingId;
use crate::rows::{ProfileRows, parquet_bytes, record_batch, recording_identity};
use crate::tables::DataTable;

/// Characters of a name in a path.
const PATH_NAME_MAX: usize = 60;

/// Outcome of adding a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddedProfile {
    /// These many recordings are new.
    Added {
        /// New recordings.
        recordings: usize,
        /// Recordings that were there.
        known: usize,
    },
    /// All its recordings were there.
    Known {
        /// Number of recordings.
        recordings: usize,
    },
}

/// Adds profiles to a data set, one after the other.
#[derive(Debug)]
pub struct ProfileAdder<'s> {
    set: &'s DataSet,
    known: BTreeSet<RecordingId>,
    /// Files to use instead of those that the profiles name.
    pub debug: Vec<PathBuf>,
    /// Day of the profiles; `None`: the day on which each was written.
    pub day: Option<Day>,
}

impl<'s> ProfileAdder<'s> {
    /// Reads what the data set has. Recordings with damaged files count as missing, so that they are written again.
    ///
    /// # Errors
    /// An entry is damaged, or the store cannot be read.
    pub async fn new(set: &'s DataSet) -> Result<Self, FleetError> {
        let counted = CountedEntries::choose(set.read_entries().await?);
        let sizes = StoredSizes::list(set).await?;
        let known = { counted.entries.into_iter() }
            .map(|(entry, _)| entry)
            .filter(|entry| sizes.verify(entry).is_ok())
            .flat_map(|entry| entry.recordings)
            .collect();
        Ok(Self {
            set,
            known,
            debug: Vec::new(),
            day: None,
        })
    }

    /// Adds a profile. Nothing of it is in the data set if that fails.
    ///
    /// # Errors
    /// The profile or its debug files cannot be read, it holds samples or no complete recording, or the store fails.
    pub async fn add(
        &mut self,
        profile: &Path,
        progress: &dyn RecordingProgress,
    ) -> Result<AddedProfile, FleetError> {
        let meta = read_meta(profile)?;
        let extents = complete_recordings(&meta);
        if extents.is_empty() {
            return Err(refuse_cut_off(profile).into());
        }
        let identities = extents
            .iter()
            .map(|extent| recording_identity(&meta, extent));
        let known = identities.filter(|id| self.known.contains(id)).count();
        if known == extents.len() {
            return Ok(AddedProfile::Known { recordings: known });
        }
        let named = read_named_traffic(profile, &self.debug, progress);
        let named = named.map_err(UserError::wrap::<UserError>(profile.display().to_string()))?;
        let day = match self.day {
            Some(day) => day,
            None => written_day(profile)?,
        };
        let recordings = self.add_traffic(&named, day).await?;
        Ok(AddedProfile::Added { recordings, known })
    }

    /// Adds the recordings of a profile that was read, and returns the number of those that are new.
    ///
    /// # Errors
    /// The store fails.
    pub async fn add_traffic(
        &mut self,
        named: &NamedTraffic,
        day: Day,
    ) -> Result<usize, FleetError> {
        let rows = ProfileRows::new(named, day, &self.known);
        let recordings = rows.recordings.len();
        if recordings > 0 {
            self.write(&rows, day, &partition_folder(&named.traffic.meta, day))
                .await?;
            self.known.extend(rows.recordings);
        }
        Ok(recordings)
    }

    async fn write(&self, rows: &ProfileRows, day: Day, folder: &str) -> Result<(), FleetError> {
        let name = entry_name(&rows.recordings);
        let mut entry = SetEntry {
            date: day.to_string(),
            recordings: rows.recordings.clone(),
            files: Vec::new(),
            name,
        };
        let written = self.write_files(rows, folder, &mut entry).await;
        let written = match written {
            Ok(()) => self.set.write_entry(&entry).await,
            failed => failed,
        };
        if written.is_err() {
            // What cannot be removed belongs to no entry, and `compact` removes it later.
            let files = entry.files.iter().map(|file| file.path.clone());
            let _ = self.set.remove(files.collect()).await;
        }
        written
    }

    async fn write_files(
        &self,
        rows: &ProfileRows,
        folder: &str,
        entry: &mut SetEntry,
    ) -> Result<(), FleetError> {
        for table in DataTable::ALL {
            let batch = record_batch(table, &rows.sorted(table))?;
            let bytes = parquet_bytes(&batch)?;
            let file = RowFile {
                table: table.name().to_owned(),
                path: format!("{}/{folder}/{}.parquet", table.name(), entry.name),
                bytes: bytes.len() as u64,
                rows: batch.num_rows() as u64,
            };
            let path = file.path.clone();
            entry.files.push(file);
            self.set.write(&path, bytes).await?;
        }
        Ok(())
    }
}

/// Returns the name of the entry with these recordings.
pub fn entry_name(recordings: &BTreeSet<RecordingId>) -> String {
    let texts: Vec<String> = recordings.iter().map(ToString::to_string).collect();
    format!("{:016x}", text_hash(texts.iter().map(String::as_str)))
}

/// Reads the metadata of a profile with counts.
///
/// # Errors
/// It cannot be read, or the profile holds samples.
pub fn read_meta(profile: &Path) -> Result<ProfileMeta, FleetError> {
    let path = profile.join(META_FILE);
    let text = relayout_files::read_regular_text(&path).map_err(|error| FleetError::File {
        action: "read",
        path: path.clone(),
        source: std::io::Error::other(error),
    })?;
    let meta = parse_meta(text.as_bytes()).map_err(|error| FleetError::File {
        action: "read",
        path,
        source: std::io::Error::other(error),
    })?;
    match meta.coverage {
        AccessCoverage::Samples => Err(refuse_samples(profile).into()),
        _ => Ok(meta),
    }
}

fn written_day(profile: &Path) -> Result<Day, FleetError> {
    let path = profile.join(META_FILE);
    let modified = std::fs::metadata(&path).and_then(|meta| meta.modified());
    modified
        .map(Day::of_time)
        .map_err(|source| FleetError::File {
            action: "read the time of",
            path,
            source,
        })
}

/// Returns the folder of a profile's files: `date=2026-11-27/build=3bde3ce0/machine=x86_64/workload=mntns`.
fn partition_folder(meta: &ProfileMeta, day: Day) -> String {
    let build = match meta.build_id.as_str() {
        "" => path_name(&meta.release),
        id => path_name(&id.chars().take(16).collect::<String>()),
    };
    let workload = path_name(&ComparedWorkload::from_meta(meta).name);
    let machine = path_name(&meta.machine);
    format!("date={day}/build={build}/machine={machine}/workload={workload}")
}

/// Returns a name without characters that mean something in paths.
fn path_name(name: &str) -> String {
    let plain = |c: char| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' | '.' => c,
        _ => '_',
    };
    let plain: String = name.chars().take(PATH_NAME_MAX).map(plain).collect();
    match plain.trim_matches('.') {
        "" => "none".to_owned(),
        _ => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_paths() {
        for (name, expect) in [
            ("mntns", "mntns"),
            ("db_bench --num=10", "db_bench_--num_10"),
            ("../../etc", ".._.._etc"),
            ("..", "none"),
            ("", "none"),
        ] {
            assert_eq!(path_name(name), expect);
        }
    }
}
