//! Folders kept from one run of the command to the next: several large files for each request.
//!
//! As with [`CachedValues`](crate::CachedValues), the serialised request is the key, and a loss costs
//! only time. A folder gets its name when it is complete; before, it is a temporary one, which the
//! next process removes if this one is killed.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use relayout_temporary::{PARTIAL_PREFIX, TemporaryFolder};

use crate::CacheFolder;
use crate::cached_files::is_cache_off;
use crate::cached_values::{CacheKey, CachedRequest};
use crate::trust::is_private;

/// File with the serialised request. The time of its last change is that of the folder's last use.
const REQUEST: &str = "request";
/// Bytes of the blocks that the system counts.
const STAT_BLOCK_BYTES: u64 = 512;

const SNAPSHOTS: &str = "snapshots";
/// Bytes of all snapshots together.
const SNAPSHOT_BYTES_MAX: u64 = 4 << 30;
/// Variable with another limit of the snapshots, in MiB.
pub const SNAPSHOT_LIMIT_VARIABLE: &str = "RELAYOUT_SNAPSHOTS_MIB";

/// A folder of kept folders, which only the user can read.
#[derive(Clone, Debug)]
pub struct KeptFolders {
    place: PathBuf,
    /// Bytes of all folders together; beyond them, the least recently used ones are removed.
    bytes_max: u64,
}

/// Number and size of kept folders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeptUsage {
    /// Number of folders.
    pub count: usize,
    /// Bytes that they take.
    pub bytes: u64,
}

struct KeptEntry {
    used: SystemTime,
    bytes: u64,
    path: PathBuf,
}

impl KeptFolders {
    /// Finds the snapshots of guests in the user's cache folder. `None` without a cache folder, with
    /// `$RELAYOUT_NO_CACHE`, or if `$RELAYOUT_SNAPSHOTS_MIB` is 0.
    pub fn locate_snapshots() -> Option<Self> {
        let cache = CacheFolder::locate().filter(|_| !is_cache_off())?;
        let limit = std::env::var(SNAPSHOT_LIMIT_VARIABLE).ok();
        let limit = limit.and_then(|text| text.trim().parse::<u64>().ok());
        let bytes_max = limit.map_or(SNAPSHOT_BYTES_MAX, |mib| mib.saturating_mul(1 << 20));
        let folders = Self::new(cache.dir().join(SNAPSHOTS), bytes_max);
        (bytes_max > 0).then_some(folders)
    }

    /// Takes `place`, which need not exist.
    pub fn new(place: PathBuf, bytes_max: u64) -> Self {
        Self { place, bytes_max }
    }

    /// Path of the place.
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// Bytes that all folders together may take.
    pub fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// Returns the folder that is kept for this request, and marks it as used.
    pub fn find<R: CachedRequest>(&self, request: &R) -> Option<PathBuf> {
        let key = CacheKey::from_request(request)?;
        let path = self.place.join(&key.file_name);
        let has_private = |path: &Path| fs::symlink_metadata(path).is_ok_and(|f| is_private(&f));
        if !has_private(&self.place) || !has_private(&path) {
            return None;
        }
        // Another request may have a folder of the same name.
        let file = path.join(REQUEST);
        fs::read(&file).ok().filter(|found| *found == key.bytes)?;
        // Fails on a read-only file system, which does no harm.
        let marked = OpenOptions::new().append(true).open(&file);
        let _ = marked.and_then(|file| file.set_modified(SystemTime::now()));
        Some(path)
    }

    /// Makes a folder to fill, which is removed unless it is kept.
    ///
    /// # Errors
    /// The place cannot be created or written to, or others can write to it.
    pub fn begin(&self) -> io::Result<TemporaryFolder> {
        fs::create_dir_all(self.place.parent().unwrap_or(Path::new("/")))?;
        match DirBuilder::new().mode(0o700).create(&self.place) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => other?,
        }
        if !is_private(&fs::symlink_metadata(&self.place)?) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        TemporaryFolder::create(&self.place, PARTIAL_PREFIX)
    }

    /// Keeps a complete folder for this request, unless another process has kept one meanwhile, and
    /// removes the least recently used others that no longer have room. Returns true if it kept this one.
    ///
    /// # Errors
    /// The folder cannot be written to or renamed.
    pub fn keep<R: CachedRequest>(&self, request: &R, folder: TemporaryFolder) -> io::Result<bool> {
        let key = CacheKey::from_request(request).ok_or(io::ErrorKind::InvalidInput)?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        options
            .open(folder.path().join(REQUEST))?
            .write_all(&key.bytes)?;
        let path = self.place.join(&key.file_name);
        let is_first = match folder.rename_to(&path) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => false,
            other => {
                other?;
                true
            }
        };
        self.evict_oldest(&path);
        Ok(is_first)
    }

    /// Removes the folder of this request.
    pub fn remove<R: CachedRequest>(&self, request: &R) {
        if let Some(key) = CacheKey::from_request(request) {
            let _ = self.remove_path(&self.place.join(key.file_name));
        }
    }

    /// Removes all folders, and returns their number and size.
    ///
    /// # Errors
    /// One cannot be removed.
    pub fn remove_all(&self) -> io::Result<KeptUsage> {
        let usage = self.usage();
        for entry in self.entries() {
            self.remove_path(&entry.path)?;
        }
        Ok(usage)
    }

    /// Returns the number and size of all folders.
    pub fn usage(&self) -> KeptUsage {
        let entries = self.entries();
        KeptUsage {
            count: entries.len(),
            bytes: entries.iter().map(|entry| entry.bytes).sum(),
        }
    }

    /// Removes the least recently used folders but `kept` until the rest has at most the bytes that
    /// are allowed. Those that cannot be removed stay.
    fn evict_oldest(&self, kept: &Path) {
        let mut entries = self.entries();
        entries.sort_by_key(|entry| entry.used);
        let mut total_bytes: u64 = entries.iter().map(|entry| entry.bytes).sum();
        for entry in entries.iter().filter(|entry| entry.path != kept) {
            if total_bytes <= self.bytes_max {
                break;
            }
            if self.remove_path(&entry.path).is_ok() {
                total_bytes -= entry.bytes;
            }
        }
    }

    /// Removes a folder. Its name goes first, so that no process finds a part of it.
    fn remove_path(&self, path: &Path) -> io::Result<()> {
        let grave = TemporaryFolder::create(&self.place, PARTIAL_PREFIX)?;
        fs::rename(path, grave.path().join("removed"))
    }

    fn entries(&self) -> Vec<KeptEntry> {
        let listed = fs::read_dir(&self.place).into_iter().flatten().flatten();
        listed
            .filter_map(|entry| KeptEntry::read(entry.path()))
            .collect()
    }
}

impl KeptEntry {
    /// Returns the entry of a folder; `None` if it is none, or not complete.
    fn read(path: PathBuf) -> Option<Self> {
        let used = fs::metadata(path.join(REQUEST)).ok()?.modified().ok()?;
        let is_partial = { path.file_name()?.to_str() }.is_none_or(|n| n.starts_with('.'));
        if is_partial {
            return None;
        }
        let files = fs::read_dir(&path).ok()?.flatten();
        let stored = files.filter_map(|file| Some(file.metadata().ok()?.blocks()));
        let bytes = stored.sum::<u64>() * STAT_BLOCK_BYTES;
        Some(Self { used, bytes, path })
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    use serde::Serialize;

    use super::*;

    #[derive(Serialize)]
    struct NumberedGuest(u32);

    impl CachedRequest for NumberedGuest {
        const KIND: &'static str = "guest";
    }

    const FILE_BYTES: usize = 1 << 16;

    fn folders(bytes_max: u64) -> (tempfile::TempDir, KeptFolders) {
        let dir = tempfile::tempdir().expect("a folder");
        let folders = KeptFolders::new(dir.path().join("cache/guests"), bytes_max);
        (dir, folders)
    }

    fn keep(folders: &KeptFolders, number: u32) {
        let folder = folders.begin().expect("a folder");
        fs::write(folder.path().join("state"), vec![number as u8; FILE_BYTES]).expect("written");
        folders.keep(&NumberedGuest(number), folder).expect("kept");
    }

    fn set_used(folders: &KeptFolders, number: u32, minutes: u64) {
        let path = folders.find(&NumberedGuest(number)).expect("kept");
        let file = OpenOptions::new().append(true).open(path.join(REQUEST));
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(60 * minutes);
        file.and_then(|file| file.set_modified(then)).expect("ours");
    }

    fn names(folders: &KeptFolders) -> usize {
        fs::read_dir(folders.place()).map_or(0, Iterator::count)
    }

    #[test]
    fn each_request_has_its_folder() {
        let (_dir, folders) = folders(u64::MAX);
        assert_eq!(folders.find(&NumberedGuest(1)), None);
        assert_eq!(folders.usage(), KeptUsage::default());
        keep(&folders, 1);
        keep(&folders, 2);
        keep(&folders, 1);
        let path = folders.find(&NumberedGuest(1)).expect("kept");
        assert_eq!(fs::read(path.join("state")).expect("read")[0], 1);
        let mode = |path: &Path| fs::metadata(path).expect("there").mode() & 0o777;
        assert_eq!([mode(folders.place()), mode(&path)], [0o700; 2]);
        assert_eq!(mode(&path.join(REQUEST)), 0o600);
        assert_eq!(names(&folders), 2, "nothing but the folders");
        let usage = folders.usage();
        assert!(
            usage.count == 2 && usage.bytes >= 2 * FILE_BYTES as u64,
            "{usage:?}"
        );
        folders.remove(&NumberedGuest(1));
        assert_eq!(folders.find(&NumberedGuest(1)), None);
        assert_eq!(folders.remove_all().expect("removed").count, 1);
        assert_eq!(names(&folders), 0);
    }

    #[test]
    fn unfinished_folders_leave_nothing() {
        let (_dir, folders) = folders(u64::MAX);
        drop(folders.begin().expect("a folder"));
        assert_eq!(names(&folders), 0);
    }

    #[test]
    fn folders_of_others_are_not_used() {
        let (_dir, folders) = folders(u64::MAX);
        keep(&folders, 1);
        let path = folders.find(&NumberedGuest(1)).expect("kept");
        fs::write(path.join(REQUEST), "2\n").expect("ours");
        assert_eq!(folders.find(&NumberedGuest(1)), None, "another request");
        fs::write(path.join(REQUEST), "1\n").expect("ours");
        assert!(folders.find(&NumberedGuest(1)).is_some());
        for place in [&path, folders.place()] {
            fs::set_permissions(place, Permissions::from_mode(0o777)).expect("ours");
            assert_eq!(folders.find(&NumberedGuest(1)), None);
            fs::set_permissions(place, Permissions::from_mode(0o700)).expect("ours");
        }
        fs::set_permissions(folders.place(), Permissions::from_mode(0o777)).expect("ours");
        assert!(folders.begin().is_err());
    }

    #[test]
    fn the_least_recently_used_folder_gives_way() {
        let (_dir, folders) = folders(5 * FILE_BYTES as u64 / 2);
        keep(&folders, 1);
        keep(&folders, 2);
        set_used(&folders, 1, 20);
        set_used(&folders, 2, 10);
        keep(&folders, 3);
        let kept = [1, 2, 3].map(|n| folders.find(&NumberedGuest(n)).is_some());
        assert_eq!(kept, [true, false, true]);
        let (_dir, small) = self::folders(1);
        keep(&small, 1);
        assert!(
            small.find(&NumberedGuest(1)).is_some(),
            "the last one stays"
        );
    }
}
