//! Folders of the host's, with all that is below them, as the guest gets them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use relayout_files::cannot;
use rustix::fs::{Access, access};

use super::files::GuestEntry;
use crate::Error;

/// Folders of a root in which the guest mounts something of its own.
pub const MOUNT_POINTS: [&str; 3] = ["dev", "proc", "sys"];
/// Bytes of the units in which `stat` counts blocks.
const STAT_BLOCK_BYTES: u64 = 512;

/// Size of all that is in a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FolderSize {
    /// Files, folders and links.
    pub entries: u64,
    /// Sum of the sizes of files.
    pub file_bytes: u64,
    /// Space that the files take on the host's disk, which is less where they have holes.
    pub stored_bytes: u64,
    /// Size of the largest file.
    pub largest_file_bytes: u64,
}

/// A folder as it was found.
pub struct WalkedFolder {
    /// Entries by path in the guest, without the leading `/`.
    pub entries: BTreeMap<PathBuf, GuestEntry>,
    /// Their size.
    pub size: FolderSize,
}

impl WalkedFolder {
    /// Reads all that is below `host`, which has the path `top` in the guest.
    ///
    /// # Errors
    /// A folder or a link cannot be read.
    pub fn read(host: &Path, top: &Path) -> Result<Self, Error> {
        let mut walked = Self {
            entries: BTreeMap::new(),
            size: FolderSize::default(),
        };
        let mut folders = vec![(host.to_owned(), top.to_owned())];
        while let Some((folder, path)) = folders.pop() {
            let is_mounted = MOUNT_POINTS.iter().any(|name| path == Path::new(name));
            if !path.as_os_str().is_empty() {
                walked.add(path.clone(), GuestEntry::Folder);
            }
            if is_mounted {
                continue;
            }
            let entries = fs::read_dir(&folder).map_err(cannot("read", &folder))?;
            for entry in entries {
                let entry = entry.map_err(cannot("read", &folder))?;
                let (host, path) = (entry.path(), path.join(entry.file_name()));
                let found = fs::symlink_metadata(&host).map_err(cannot("look at", &host))?;
                if found.is_dir() {
                    folders.push((host, path));
                } else if found.is_symlink() {
                    let target = fs::read_link(&host).map_err(cannot("read", &host))?;
                    walked.add(path, GuestEntry::Link(target));
                } else if found.is_file() {
                    walked.add_file(path, &host, &found);
                }
            }
        }
        Ok(walked)
    }

    /// Fails if a file cannot be read.
    ///
    /// # Errors
    /// The error names the file.
    pub fn require_readable(&self) -> Result<(), Error> {
        for entry in self.entries.values() {
            if let GuestEntry::File { host, .. } = entry {
                access(host, Access::READ_OK)
                    .map_err(|error| cannot("read", host)(error.into()))?;
            }
        }
        Ok(())
    }

    fn add(&mut self, path: PathBuf, entry: GuestEntry) {
        self.size.entries += 1;
        self.entries.insert(path, entry);
    }

    fn add_file(&mut self, path: PathBuf, host: &Path, found: &fs::Metadata) {
        let (bytes, size) = (found.len(), &mut self.size);
        let stored_bytes = found.blocks().saturating_mul(STAT_BLOCK_BYTES).min(bytes);
        size.file_bytes = size.file_bytes.saturating_add(bytes);
        size.stored_bytes = size.stored_bytes.saturating_add(stored_bytes);
        size.largest_file_bytes = size.largest_file_bytes.max(bytes);
        self.add(path, GuestEntry::from_file(host, found));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_of_files_take_no_space() {
        let folder = tempfile::tempdir().expect("a folder");
        let sparse = fs::File::create(folder.path().join("sparse")).expect("made");
        sparse.set_len(1 << 30).expect("extended");
        fs::write(folder.path().join("full"), vec![1; 5000]).expect("written");
        fs::create_dir(folder.path().join("empty")).expect("made");
        let size = WalkedFolder::read(folder.path(), Path::new(""))
            .expect("read")
            .size;
        assert_eq!((size.entries, size.file_bytes), (3, (1 << 30) + 5000));
        assert_eq!(size.largest_file_bytes, 1 << 30);
        assert!(size.stored_bytes < 1 << 20, "{size:?}");
    }
}
