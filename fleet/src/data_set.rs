//! A data set: a marked folder of a store, with entries and files of rows.

use std::collections::BTreeMap;
use std::time::SystemTime;

use futures::{StreamExt as _, TryStreamExt as _};
use object_store::{ObjectMeta, ObjectStoreExt as _, PutMode, PutPayload};
use serde::{Deserialize, Serialize};

use crate::FleetError;
use crate::address::SetAddress;
use crate::entry::{ENTRY_FOLDER, SetEntry, entry_name, entry_path};
use crate::tables::{DataTable, FORMAT_VERSION};

/// File that marks a data set.
const MARK: &str = "fleet.json";
const MARK_KIND: &str = "relayout-fleet";
/// Entries that are read at once.
const READS_AT_ONCE: usize = 64;

/// A data set that was opened.
#[derive(Clone, Debug)]
pub struct DataSet {
    /// Place.
    pub address: SetAddress,
}

#[derive(Serialize, Deserialize)]
struct SetMark {
    kind: String,
    format: u32,
}

impl DataSet {
    /// Opens the data set at an address.
    ///
    /// # Errors
    /// There is none, it is another tool's or a newer version's, or the store cannot be read.
    pub async fn open(given: &str) -> Result<Self, FleetError> {
        let set = Self {
            address: SetAddress::parse(given)?,
        };
        match set.read_mark().await? {
            Some(_) => Ok(set),
            None => Err(set.absence().await?),
        }
    }

    /// Opens the data set at an address to add to it, or makes one where nothing is. A data set of an older format gets
    /// the current one: an older program would not tell apart what is added.
    ///
    /// # Errors
    /// As [`Self::open`]; or there are other files.
    pub async fn open_or_create(given: &str) -> Result<Self, FleetError> {
        let set = Self {
            address: SetAddress::parse(given)?,
        };
        let mark = SetMark {
            kind: MARK_KIND.to_owned(),
            format: FORMAT_VERSION,
        };
        let text = serde_json::to_string(&mark).expect("a mark is plain text") + "\n";
        if let Some(format) = set.read_mark().await? {
            if format < FORMAT_VERSION {
                set.write(MARK, text.into_bytes()).await?;
            }
            return Ok(set);
        }
        if let occupied @ FleetError::Occupied { .. } = set.absence().await? {
            return Err(occupied);
        }
        let store = &set.address.store;
        let options = PutMode::Create.into();
        match store
            .put_opts(&set.address.path(MARK), text.into(), options)
            .await
        {
            // Another command was faster.
            Ok(_) | Err(object_store::Error::AlreadyExists { .. }) => {}
            Err(source) => return Err(set.store_error("write", MARK, source)),
        }
        match set.read_mark().await? {
            Some(_) => Ok(set),
            None => Err(FleetError::NoDataSet(set.address.given)),
        }
    }

    /// Returns the format in the mark; `None` if there is no mark.
    async fn read_mark(&self) -> Result<Option<u32>, FleetError> {
        let Some(bytes) = self.read(MARK).await? else {
            return Ok(None);
        };
        let refuse = |reason: String| FleetError::OtherMark {
            address: self.address.given.clone(),
            reason,
        };
        let mark: SetMark =
            serde_json::from_slice(&bytes).map_err(|error| refuse(error.to_string()))?;
        match mark.format {
            _ if mark.kind != MARK_KIND => Err(refuse(format!("its kind is {:?}", mark.kind))),
            0 => Err(refuse("its format is 0".to_owned())),
            found if found > FORMAT_VERSION => Err(FleetError::NewerFormat {
                address: self.address.given.clone(),
                found,
            }),
            format => Ok(Some(format)),
        }
    }

    /// Returns why there is no data set.
    async fn absence(&self) -> Result<FleetError, FleetError> {
        let mut found = self.address.store.list(Some(&self.address.root));
        match found.next().await {
            Some(Ok(file)) => Ok(FleetError::Occupied {
                address: self.address.given.clone(),
                example: self.address.relative(&file.location).unwrap_or_default(),
            }),
            Some(Err(object_store::Error::NotFound { .. })) | None => {
                Ok(FleetError::NoDataSet(self.address.given.clone()))
            }
            Some(Err(source)) => Err(self.store_error("read", "", source)),
        }
    }

    /// Returns an error of the store, about a file of the data set.
    pub fn store_error(
        &self,
        action: &'static str,
        relative: &str,
        source: object_store::Error,
    ) -> FleetError {
        let path = match relative {
            "" => self.address.given.clone(),
            relative => format!("{}/{relative}", self.address.given),
        };
        FleetError::Store {
            action,
            path,
            source,
        }
    }

    /// Reads a file; `None` if it is not there.
    ///
    /// # Errors
    /// The store fails.
    pub async fn read(&self, relative: &str) -> Result<Option<Vec<u8>>, FleetError> {
        let fail = |source| self.store_error("read", relative, source);
        let found = match self.address.store.get(&self.address.path(relative)).await {
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            other => other.map_err(fail)?,
        };
        let bytes = found.bytes().await.map_err(fail)?;
        Ok(Some(bytes.to_vec()))
    }

    /// Writes a file. An older one stays until the new one is whole.
    ///
    /// # Errors
    /// The store fails.
    pub async fn write(&self, relative: &str, bytes: Vec<u8>) -> Result<(), FleetError> {
        let path = self.address.path(relative);
        let payload = PutPayload::from(bytes);
        let put = self.address.store.put(&path, payload).await;
        put.map(|_| ())
            .map_err(|source| self.store_error("write", relative, source))
    }

    /// Removes files. One that is not there is no error.
    ///
    /// # Errors
    /// The store fails.
    pub async fn remove(&self, files: Vec<String>) -> Result<(), FleetError> {
        let removals = files.into_iter().map(|relative| async move {
            match self
                .address
                .store
                .delete(&self.address.path(&relative))
                .await
            {
                Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
                Err(source) => Err(self.store_error("remove", &relative, source)),
            }
        });
        let mut running = futures::stream::iter(removals).buffer_unordered(READS_AT_ONCE);
        while let Some(removed) = running.next().await {
            removed?;
        }
        Ok(())
    }

    /// Returns the bytes of all files below a folder of the data set, by path in the data set.
    ///
    /// # Errors
    /// The store fails.
    pub async fn list(&self, folder: &str) -> Result<BTreeMap<String, u64>, FleetError> {
        let files = self.list_files(folder).await?.into_iter();
        Ok(files.map(|(path, file)| (path, file.size)).collect())
    }

    /// Returns the files below a folder that were written before a time.
    ///
    /// # Errors
    /// The store fails.
    pub async fn list_older(
        &self,
        folder: &str,
        time: SystemTime,
    ) -> Result<Vec<String>, FleetError> {
        let files = self.list_files(folder).await?.into_iter();
        let older = files.filter(|(_, file)| SystemTime::from(file.last_modified) < time);
        Ok(older.map(|(path, _)| path).collect())
    }

    async fn list_files(&self, folder: &str) -> Result<Vec<(String, ObjectMeta)>, FleetError> {
        let path = self.address.path(folder);
        let mut found = self.address.store.list(Some(&path));
        let mut files = Vec::new();
        while let Some(file) = found.next().await {
            match file {
                Ok(file) => {
                    let relative = self.address.relative(&file.location);
                    files.extend(relative.map(|relative| (relative, file)));
                }
                Err(object_store::Error::NotFound { .. }) => {}
                Err(source) => return Err(self.store_error("read", folder, source)),
            }
        }
        Ok(files)
    }

    /// Reads all entries, by name.
    ///
    /// # Errors
    /// An entry is damaged, or the store fails.
    pub async fn read_entries(&self) -> Result<Vec<SetEntry>, FleetError> {
        let listed = self.list(ENTRY_FOLDER).await?;
        let names: Vec<String> = { listed.keys() }
            .filter_map(|path| entry_name(path).map(str::to_owned))
            .collect();
        let reads = names.iter().map(|name| self.read_entry(name));
        let entries: Vec<Option<SetEntry>> = futures::stream::iter(reads)
            .buffered(READS_AT_ONCE)
            .try_collect()
            .await?;
        // One that was removed since is none.
        Ok(entries.into_iter().flatten().collect())
    }

    /// Reads an entry; `None` if it is not there.
    ///
    /// # Errors
    /// It is damaged, or the store fails.
    pub async fn read_entry(&self, name: &str) -> Result<Option<SetEntry>, FleetError> {
        let path = entry_path(name);
        let Some(bytes) = self.read(&path).await? else {
            return Ok(None);
        };
        let refuse = |reason: String| FleetError::DamagedEntry {
            path: format!("{}/{path}", self.address.given),
            reason,
        };
        let entry: SetEntry =
            serde_json::from_slice(&bytes).map_err(|error| refuse(error.to_string()))?;
        if let Some(file) =
            { entry.files.iter() }.find(|file| !is_row_file(&file.table, &file.path))
        {
            return Err(refuse(format!("{:?} is no file of rows", file.path)));
        }
        Ok(Some(SetEntry {
            name: name.to_owned(),
            ..entry
        }))
    }

    /// Writes an entry, which makes its files count.
    ///
    /// # Errors
    /// The store fails.
    pub async fn write_entry(&self, entry: &SetEntry) -> Result<(), FleetError> {
        let text = serde_json::to_string(entry).expect("an entry is plain text") + "\n";
        self.write(&entry.path(), text.into_bytes()).await
    }
}

/// Returns true for a path that a file of the table can have: entries come from anywhere.
fn is_row_file(table: &str, path: &str) -> bool {
    let is_inside = |rest: &str| !rest.split('/').any(|part| matches!(part, "" | "." | ".."));
    DataTable::from_name(table).is_some()
        && path
            .strip_prefix(table)
            .and_then(|rest| rest.strip_prefix('/'))
            .is_some_and(is_inside)
}
