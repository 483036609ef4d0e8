//! Snapshots of guests at their start markers, so that the next recording of the same guest need not
//! boot. A snapshot is a folder in the cache: the guest's memory, the machine's state as QEMU writes
//! it, the console so far, and an index, which comes last.

mod memory_copy;
mod request;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use relayout_files::{
    FileError, KeptFolders, KeptUsage, SNAPSHOT_LIMIT_VARIABLE, TemporaryFolder, cannot, free_bytes,
};
use serde::{Deserialize, Serialize};

use self::memory_copy::{MemoryCopy, read_memory, stored_bytes, write_memory};
pub(crate) use self::request::{GuestIdentity, SnapshotRequest, file_content};
use crate::workspace::{GuestMemory, create_private_file};

/// Room that a new snapshot leaves on the disk.
const FREE_BYTES_MIN: u64 = 1 << 30;

const MEMORY: &str = "memory";
const STATE: &str = "state";
const CONSOLE: &str = "console";
const INDEX: &str = "index";

/// Snapshots of guests in the user's cache folder.
#[derive(Clone, Debug)]
pub struct SnapshotStore(KeptFolders);

/// Store for the snapshot of a guest that does not start again. It is gone when dropped, and takes the place of no others.
pub struct TemporarySnapshots {
    folder: TemporaryFolder,
    bytes_max: u64,
}

impl TemporarySnapshots {
    /// Returns the store.
    pub fn store(&self) -> SnapshotStore {
        SnapshotStore(KeptFolders::new(
            self.folder.path().to_owned(),
            self.bytes_max,
        ))
    }
}

/// Facts about the files of a snapshot, by which they are validated.
#[derive(Serialize, Deserialize)]
struct SnapshotIndex {
    state: CheckedFile,
    console: CheckedFile,
    memory: MemoryCopy,
}

#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct CheckedFile {
    bytes: u64,
    checksum: u32,
}

/// A snapshot that is being made. It is gone when dropped.
pub(crate) struct NewSnapshot {
    folder: TemporaryFolder,
    state: File,
}

/// A machine to go on with.
pub(crate) struct SavedMachine {
    /// State of the machine, as QEMU wrote it.
    pub state: File,
    /// Text on the console so far.
    pub console: Vec<u8>,
}

impl SnapshotStore {
    /// Finds the snapshots of the user's cache folder, as [`KeptFolders::locate_snapshots`] does.
    pub fn locate() -> Option<Self> {
        KeptFolders::locate_snapshots().map(Self)
    }

    /// Makes a store beside the snapshots that are kept.
    ///
    /// # Errors
    /// The cache folder cannot be written to.
    pub fn begin_temporary(&self) -> Result<TemporarySnapshots, FileError> {
        Ok(TemporarySnapshots {
            folder: self.0.begin().map_err(cannot("write to", self.place()))?,
            bytes_max: self.bytes_max(),
        })
    }

    /// Path of the folder with the snapshots.
    pub fn place(&self) -> &Path {
        self.0.place()
    }

    /// Bytes that all snapshots together may take.
    pub fn bytes_max(&self) -> u64 {
        self.0.bytes_max()
    }

    /// Number and size of the snapshots.
    pub fn usage(&self) -> KeptUsage {
        self.0.usage()
    }

    /// Removes all snapshots, and returns their number and size.
    ///
    /// # Errors
    /// One cannot be removed.
    pub fn remove_all(&self) -> io::Result<KeptUsage> {
        self.0.remove_all()
    }

    /// Reads the snapshot of a guest, its memory into `memory`, which must be fresh. `None` if there is
    /// none.
    ///
    /// # Errors
    /// The snapshot is damaged, or cannot be read.
    pub(crate) fn read(
        &self,
        request: &SnapshotRequest,
        memory: &GuestMemory,
        is_aborted: &dyn Fn() -> bool,
    ) -> io::Result<Option<SavedMachine>> {
        let Some(folder) = self.0.find(request) else {
            return Ok(None);
        };
        let index: SnapshotIndex = serde_json::from_slice(&fs::read(folder.join(INDEX))?)?;
        // Open files stay when another process removes the snapshot.
        let state = File::open(folder.join(STATE))?;
        let memory_file = File::open(folder.join(MEMORY))?;
        let console = fs::read(folder.join(CONSOLE))?;
        if CheckedFile::from_bytes(&fs::read(folder.join(STATE))?) != index.state {
            return Err(damaged("the state of the machine"));
        }
        if CheckedFile::from_bytes(&console) != index.console {
            return Err(damaged("the console"));
        }
        let is_whole = read_memory(&memory_file, &index.memory, memory, is_aborted)?;
        match is_whole {
            true => Ok(Some(SavedMachine { state, console })),
            false => Err(damaged("the guest's memory")),
        }
    }

    /// Makes an empty snapshot.
    ///
    /// # Errors
    /// The cache folder cannot be written to.
    pub(crate) fn begin(&self) -> io::Result<NewSnapshot> {
        let folder = self.0.begin()?;
        let state = create_private_file(&folder.path().join(STATE))?;
        Ok(NewSnapshot { folder, state })
    }

    /// Keeps a complete snapshot. Returns false if another process has kept one of the same guest meanwhile, which stays.
    ///
    /// # Errors
    /// The cache folder cannot be written to.
    pub(crate) fn keep(
        &self,
        request: &SnapshotRequest,
        snapshot: NewSnapshot,
    ) -> io::Result<bool> {
        self.0.keep(request, snapshot.folder)
    }

    /// Removes the snapshot of a guest.
    pub(crate) fn remove(&self, request: &SnapshotRequest) {
        self.0.remove(request);
    }

    /// Returns the reason for which memory of this size cannot be kept, if there is one.
    fn lacks_room(&self, memory: &GuestMemory) -> io::Result<Option<String>> {
        let needed = stored_bytes(memory)?;
        let mib = |bytes: u64| bytes >> 20;
        if needed > self.bytes_max() {
            let (needed, limit) = (mib(needed), mib(self.bytes_max()));
            return Ok(Some(format!(
                "it has {needed} MiB, and ${SNAPSHOT_LIMIT_VARIABLE} allows {limit}"
            )));
        }
        let free = free_bytes(self.place()).unwrap_or(u64::MAX);
        Ok((free < needed.saturating_add(FREE_BYTES_MIN)).then(|| {
            format!(
                "it has {} MiB, and the disk of {} has {} MiB free, of which {} stay free",
                mib(needed),
                self.place().display(),
                mib(free),
                mib(FREE_BYTES_MIN)
            )
        }))
    }
}

impl NewSnapshot {
    /// File for the state of the machine.
    pub fn state(&self) -> &File {
        &self.state
    }

    /// Adds all but the state, which must be complete.
    ///
    /// # Errors
    /// The store has no room for it, the files cannot be written, or the user interrupts.
    pub fn complete(
        &self,
        store: &SnapshotStore,
        memory: &GuestMemory,
        console: &[u8],
        is_aborted: &dyn Fn() -> bool,
    ) -> io::Result<()> {
        if let Some(why) = store.lacks_room(memory)? {
            return Err(io::Error::other(why));
        }
        let path = |name: &str| self.folder.path().join(name);
        let index = SnapshotIndex {
            state: CheckedFile::from_bytes(&fs::read(path(STATE))?),
            console: CheckedFile::from_bytes(console),
            memory: write_memory(memory, &create_private_file(&path(MEMORY))?, is_aborted)?,
        };
        let write = |name: &str, bytes: &[u8]| -> io::Result<()> {
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).mode(0o600);
            io::Write::write_all(&mut options.open(path(name))?, bytes)
        };
        write(CONSOLE, console)?;
        write(INDEX, &serde_json::to_vec(&index)?)
    }
}

impl CheckedFile {
    fn from_bytes(bytes: &[u8]) -> Self {
        Self {
            bytes: bytes.len() as u64,
            checksum: crc32fast::hash(bytes),
        }
    }
}

fn damaged(part: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{part} is damaged"))
}
