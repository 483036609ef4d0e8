//! Files of the guest's first file system, before they are packed.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use relayout_files::cannot;

use crate::Error;

/// Part of the guest's memory that files may take. While the kernel unpacks them, they are there
/// twice.
const MEMORY_SHARE: f64 = 0.4;
/// Bytes of the largest file that an archive in "newc" form holds.
const FILE_BYTES_MAX: u64 = u32::MAX as u64;
/// Folders of a root in which the guest mounts something of its own.
const MOUNT_POINTS: [&str; 3] = ["dev", "proc", "sys"];
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

/// Files by path in the guest, without the leading `/`; folders come before their content.
pub struct GuestFiles {
    entries: BTreeMap<PathBuf, GuestEntry>,
    bytes: u64,
    memory_bytes: u64,
}

impl GuestFiles {
    /// No files yet, for a guest with `memory_bytes` of memory.
    pub fn new(memory_bytes: u64) -> Self {
        Self {
            entries: BTreeMap::new(),
            bytes: 0,
            memory_bytes,
        }
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

    /// Adds the folder `host`, with all that is below it, at the absolute path `guest`. Links stay
    /// links; devices, pipes and sockets are left out.
    ///
    /// # Errors
    /// Something cannot be read, or the guest has not enough memory.
    pub fn add_folder(&mut self, host: &Path, guest: &Path) -> Result<(), Error> {
        let top = self.add_parents(guest);
        let mut folders = vec![(host.to_owned(), top)];
        while let Some((folder, path)) = folders.pop() {
            let is_mounted = MOUNT_POINTS.iter().any(|name| path == Path::new(name));
            if !path.as_os_str().is_empty() {
                self.entries.insert(path.clone(), GuestEntry::Folder);
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
                    self.entries.insert(path, GuestEntry::Link(target));
                } else if found.is_file() {
                    self.add_found(path, &host, &found)?;
                }
            }
        }
        Ok(())
    }

    fn add_found(&mut self, path: PathBuf, host: &Path, found: &fs::Metadata) -> Result<(), Error> {
        let entry = GuestEntry::File {
            host: host.to_owned(),
            bytes: found.len(),
            permissions: found.permissions().mode() & PERMISSIONS,
        };
        if self.entries.insert(path, entry).is_none() {
            self.bytes += found.len();
        }
        let has_room = self.bytes as f64 <= MEMORY_SHARE * self.memory_bytes as f64;
        match has_room && found.len() <= FILE_BYTES_MAX {
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
        let error = files.add_folder(folder.path(), Path::new("/"));
        assert!(matches!(error, Err(Error::GuestTooSmall { .. })));
        let mut files = GuestFiles::new(6000);
        files.add_file(&path, Path::new("/a")).expect("room");
        files.add_file(&path, Path::new("/a")).expect("the same");
    }
}
