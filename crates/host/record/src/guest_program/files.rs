//! Files of the guest's first file system, before they are packed.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use relayout_files::cannot;

use super::walk::{FolderSize, WalkedFolder};
use crate::Error;

/// Part of the guest's memory that files may take. While the kernel unpacks them, they are there
/// twice.
const MEMORY_SHARE: f64 = 0.4;
/// Bytes of the largest file that an archive in "newc" form holds.
const FILE_BYTES_MAX: u64 = u32::MAX as u64;
const PERMISSIONS: u32 = 0o777;

/// An entry of the file system.
pub enum GuestEntry {
    /// A folder.
    Folder,
    /// A file with the content of one of the host's, of this size.
    File {
        host: PathBuf,
        bytes: u64,
        permissions: u32,
    },
    /// A file with this content.
    Bytes { bytes: Vec<u8>, permissions: u32 },
    /// A symbolic link to this path.
    Link(PathBuf),
}

impl GuestEntry {
    /// A file with the content and the permissions of `host`.
    pub fn from_file(host: &Path, found: &fs::Metadata) -> Self {
        Self::File {
            host: host.to_owned(),
            bytes: found.len(),
            permissions: found.permissions().mode() & PERMISSIONS,
        }
    }

    fn file_bytes(&self) -> u64 {
        match self {
            Self::File { bytes, .. } => *bytes,
            _ => 0,
        }
    }
}

/// A folder that comes on a disk of its own, because it does not fit into the guest's memory.
pub struct DiskFolder {
    /// The folder.
    pub host: PathBuf,
    /// Absolute path in the guest.
    pub guest: PathBuf,
    /// Size of all that is below it.
    pub size: FolderSize,
}

/// Files by path in the guest, without the leading `/`; folders come before their content.
pub struct GuestFiles {
    entries: BTreeMap<PathBuf, GuestEntry>,
    disks: Vec<DiskFolder>,
    bytes: u64,
    memory_bytes: u64,
}

impl GuestFiles {
    /// No files yet, for a guest with `memory_bytes` of memory.
    pub fn new(memory_bytes: u64) -> Self {
        Self {
            entries: BTreeMap::new(),
            disks: Vec::new(),
            bytes: 0,
            memory_bytes,
        }
    }

    /// Returns true if there is something at this absolute path.
    pub fn has_file(&self, guest: &Path) -> bool {
        let path = guest.strip_prefix("/").unwrap_or(guest);
        self.entries.contains_key(path)
    }

    /// All entries.
    pub fn entries(&self) -> impl Iterator<Item = (&Path, &GuestEntry)> {
        let entry = |(path, entry): (_, _)| (PathBuf::as_path(path), entry);
        self.entries.iter().map(entry)
    }

    /// Adds a file with this content at the absolute path `guest`.
    pub fn add_bytes(&mut self, guest: &Path, bytes: Vec<u8>, permissions: u32) {
        let path = self.add_parents(guest);
        let entry = GuestEntry::Bytes { bytes, permissions };
        self.entries.insert(path, entry);
    }

    /// Adds the file `host` at the absolute path `guest`, whether `host` is a link to it or not.
    ///
    /// # Errors
    /// There is no such file, it is none, or the guest has not enough memory.
    pub fn add_file(&mut self, host: &Path, guest: &Path) -> Result<(), Error> {
        let found = fs::metadata(host).map_err(cannot("look at", host))?;
        if !found.is_file() {
            return Err(Error::Program {
                path: host.to_owned(),
                why: "it is not a regular file".to_owned(),
            });
        }
        let path = self.add_parents(guest);
        self.add_found(path, host, &found)
    }

    /// Adds the folder `host`, with all that is below it, at the absolute path `guest`. A folder that
    /// leaves too little memory comes on a disk of its own. Links stay links; in memory, devices,
    /// pipes and sockets are left out.
    ///
    /// # Errors
    /// Something cannot be read.
    pub fn add_folder(&mut self, host: &Path, guest: &Path) -> Result<(), Error> {
        let top = self.add_parents(guest);
        let walked = WalkedFolder::read(host, &top)?;
        let is_new = |(path, _): &(&PathBuf, &GuestEntry)| !self.entries.contains_key(*path);
        let added = { walked.entries.iter() }.filter(is_new);
        let bytes = added.fold(self.bytes, |sum, (_, entry)| {
            sum.saturating_add(entry.file_bytes())
        });
        if self.has_room(bytes) && walked.size.largest_file_bytes <= FILE_BYTES_MAX {
            self.bytes = bytes;
            self.entries.extend(walked.entries);
            return Ok(());
        }
        walked.require_readable()?;
        if !top.as_os_str().is_empty() {
            self.entries.insert(top, GuestEntry::Folder);
        }
        self.disks.push(DiskFolder {
            host: host.to_owned(),
            guest: guest.to_owned(),
            size: walked.size,
        });
        Ok(())
    }

    /// Absolute paths of the files that relayout writes.
    pub fn own_paths(&self) -> Vec<String> {
        let is_own = |entry: &(&PathBuf, &GuestEntry)| matches!(entry.1, GuestEntry::Bytes { .. });
        let own = self.entries.iter().filter(is_own);
        own.map(|(path, _)| format!("/{}", path.display()))
            .collect()
    }

    /// Folders that come on disks, the guest's root first.
    pub fn disks(&self) -> &[DiskFolder] {
        &self.disks
    }

    #[cfg(test)]
    pub fn into_disks(self) -> Vec<DiskFolder> {
        self.disks
    }

    /// Memory of the guest.
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    fn has_room(&self, bytes: u64) -> bool {
        bytes as f64 <= MEMORY_SHARE * self.memory_bytes as f64
    }

    fn add_found(&mut self, path: PathBuf, host: &Path, found: &fs::Metadata) -> Result<(), Error> {
        let entry = GuestEntry::from_file(host, found);
        if self.entries.insert(path, entry).is_none() {
            self.bytes += found.len();
        }
        match self.has_room(self.bytes) && found.len() <= FILE_BYTES_MAX {
            true => Ok(()),
            false => Err(Error::GuestTooSmall {
                path: host.to_owned(),
                files_mib: self.bytes >> 20,
                memory_mib: self.memory_bytes >> 20,
            }),
        }
    }

    /// Adds the folders above the absolute path `guest`, which it returns without the leading `/`.
    fn add_parents(&mut self, guest: &Path) -> PathBuf {
        let path = guest.strip_prefix("/").unwrap_or(guest);
        for parent in path.ancestors().skip(1) {
            if !parent.as_os_str().is_empty() {
                let entry = self.entries.entry(parent.to_owned());
                entry.or_insert(GuestEntry::Folder);
            }
        }
        path.to_owned()
    }

    /// Adds the folder at the absolute path `guest`, if it is not there.
    pub fn require_folder(&mut self, guest: &Path) {
        let inside = guest.join("entry");
        self.add_parents(&inside);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn paths(files: &GuestFiles) -> Vec<String> {
        let text = |(path, _): (&Path, &GuestEntry)| path.display().to_string();
        files.entries().map(text).collect()
    }

    #[test]
    fn folders_come_before_their_content() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        fs::create_dir_all(root.join("proc/1")).expect("made");
        fs::create_dir_all(root.join("usr/bin")).expect("made");
        fs::write(root.join("usr/bin/tool"), "text").expect("written");
        symlink("usr/bin", root.join("bin")).expect("linked");
        let mut files = GuestFiles::new(1 << 20);
        files.add_folder(root, Path::new("/")).expect("added");
        files.add_bytes(Path::new("/opt/a/file"), vec![1], 0o644);
        let expect = [
            "bin",
            "opt",
            "opt/a",
            "opt/a/file",
            "proc",
            "usr",
            "usr/bin",
            "usr/bin/tool",
        ];
        assert_eq!(paths(&files), expect);
    }

    #[test]
    fn files_leave_room_in_the_guests_memory() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("large");
        fs::write(&path, vec![0; 2000]).expect("written");
        let mut files = GuestFiles::new(4000);
        let error = files.add_file(&path, Path::new("/a"));
        assert!(matches!(error, Err(Error::GuestTooSmall { .. })));
        let mut files = GuestFiles::new(6000);
        files.add_file(&path, Path::new("/a")).expect("room");
        files.add_file(&path, Path::new("/a")).expect("the same");
    }

    #[test]
    fn folders_that_leave_no_room_come_on_disks() {
        let folder = tempfile::tempdir().expect("a folder");
        let (large, small) = (folder.path().join("large"), folder.path().join("small"));
        for (path, bytes) in [(&large, 3000), (&small, 100)] {
            fs::create_dir(path).expect("made");
            fs::write(path.join("file"), vec![1; bytes]).expect("written");
        }
        let mut files = GuestFiles::new(5000);
        files.add_folder(&large, Path::new("/")).expect("a disk");
        files.add_folder(&small, Path::new("/opt")).expect("room");
        files
            .add_folder(&large, Path::new("/srv/data"))
            .expect("a disk");
        assert_eq!(paths(&files), ["opt", "opt/file", "srv", "srv/data"]);
        let on_disk = |disk: &DiskFolder| (disk.guest.clone(), disk.size.file_bytes);
        let disks: Vec<_> = files.disks().iter().map(on_disk).collect();
        assert_eq!(disks, [("/".into(), 3000), ("/srv/data".into(), 3000)]);
    }
}
