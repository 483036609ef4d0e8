//! Results kept from one run of the command to the next, in a folder that only the user can read.
//!
//! Their loss costs only time. So no function here fails: a file that cannot be read counts as
//! absent, and a file that cannot be written is not kept. A file that is not as it was written
//! counts as absent, too: each has a checksum (`kept_seal.rs`).

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use relayout_temporary::{PARTIAL_PREFIX, TemporaryFile};
use rustix::fs::OFlags;

use crate::CacheFolder;
use crate::files::map_file;
use crate::kept_seal::{KeptMap, SEAL_BYTES, unsealed, write_sealed};
use crate::trust::is_private;

/// Variable that switches the cache off if it is set and not empty.
const NO_CACHE_VARIABLE: &str = "RELAYOUT_NO_CACHE";

/// Returns true if the user wants nothing to be kept.
pub(crate) fn is_cache_off() -> bool {
    std::env::var_os(NO_CACHE_VARIABLE).is_some_and(|set| !set.is_empty())
}

/// Kind of cached files: their folder within the cache folder, and their sizes.
#[derive(Debug)]
struct CachedKind {
    folder: &'static str,
    /// Bytes of the largest file that is kept.
    file_bytes_max: u64,
    /// Bytes of all files together; beyond them, the least recently used files are removed.
    all_bytes_max: u64,
}

/// Results that were computed from debug files.
const RESULTS: CachedKind = CachedKind {
    folder: "resolved",
    file_bytes_max: 64 << 20,
    all_bytes_max: 256 << 20,
};

/// Copies of recorded programs.
const PROGRAMS: CachedKind = CachedKind {
    folder: "programs",
    file_bytes_max: 1 << 30,
    all_bytes_max: 4 << 30,
};

/// A folder of cached files.
#[derive(Clone, Debug)]
pub struct CachedFiles {
    folder: PathBuf,
    kind: &'static CachedKind,
}

impl CachedFiles {
    /// Finds the folder of results within the user's cache folder. `None` without a cache folder, or with
    /// `$RELAYOUT_NO_CACHE`.
    pub fn locate() -> Option<Self> {
        Self::locate_kind(&RESULTS)
    }

    /// Finds the folder of recorded programs, as [`locate`](Self::locate) does that of results.
    pub fn locate_programs() -> Option<Self> {
        Self::locate_kind(&PROGRAMS)
    }

    fn locate_kind(kind: &'static CachedKind) -> Option<Self> {
        if is_cache_off() {
            return None;
        }
        let folder = CacheFolder::locate()?.dir().join(kind.folder);
        Some(Self { folder, kind })
    }

    /// Path of the folder.
    pub(crate) fn dir(&self) -> &Path {
        &self.folder
    }

    /// Maps a file that is there and whole, and marks it as used.
    pub fn map(&self, name: &str) -> Option<KeptMap> {
        let path = self.path_of(name);
        let metadata = fs::symlink_metadata(&path).ok()?;
        if !metadata.is_file() || !is_private(&metadata) {
            return None;
        }
        let kept = KeptMap::new(map_file(&path).ok()?)?;
        if let Ok(file) = fs::File::open(&path) {
            let _ = file.set_modified(SystemTime::now());
        }
        Some(kept)
    }

    /// Path of a file, which need not be there.
    pub fn path_of(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Keeps a copy of the file `original`, unless a whole file of that name is there.
    pub fn copy_from(&self, name: &str, original: &Path) {
        let is_short = |bytes: u64| bytes <= self.kind.file_bytes_max;
        let is_kept = self.map(name).is_some();
        if !is_kept && fs::metadata(original).is_ok_and(|found| is_short(found.len())) {
            self.keep_file(name, || fs::File::open(original));
        }
    }

    /// Returns the content of a file.
    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        let path = self.folder.join(name);
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let mut options = OpenOptions::new();
        let file = options
            .read(true)
            .custom_flags(flags.bits() as i32)
            .open(path)
            .ok()?;
        let metadata = file.metadata().ok()?;
        if !metadata.is_file() || !is_private(&metadata) || metadata.len() > self.sealed_bytes_max()
        {
            return None;
        }
        let mut bytes = Vec::new();
        (&file)
            .take(self.sealed_bytes_max())
            .read_to_end(&mut bytes)
            .ok()?;
        let content_bytes = unsealed(&bytes)?.len();
        bytes.truncate(content_bytes);
        // Marks the file as used. Fails on a read-only file system, which does no harm.
        let _ = file.set_modified(SystemTime::now());
        Some(bytes)
    }

    /// Keeps a file; replaces one of the same name.
    pub fn write(&self, name: &str, bytes: &[u8]) {
        if bytes.len() as u64 <= self.kind.file_bytes_max {
            self.keep_file(name, || Ok(bytes));
        }
    }

    fn sealed_bytes_max(&self) -> u64 {
        self.kind.file_bytes_max + SEAL_BYTES as u64
    }

    fn keep_file<R: Read>(&self, name: &str, open: impl FnOnce() -> io::Result<R>) {
        if self.try_keep_file(name, open).is_ok() {
            let _ = self.evict_oldest(self.kind.all_bytes_max);
        }
    }

    fn try_keep_file<R: Read>(
        &self,
        name: &str,
        open: impl FnOnce() -> io::Result<R>,
    ) -> io::Result<()> {
        let parent = self.folder.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(parent)?;
        match DirBuilder::new().mode(0o700).create(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => other?,
        }
        if !is_private(&fs::symlink_metadata(&self.folder)?) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let partial = TemporaryFile::create(&self.folder, PARTIAL_PREFIX, 0o600)?;
        write_sealed(open()?, partial.as_file())?;
        partial.rename_to(&self.folder.join(name))
    }

    /// Removes the least recently used files until the rest has at most `bytes_max`.
    fn evict_oldest(&self, bytes_max: u64) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            if metadata.is_file() {
                files.push((metadata.modified()?, metadata.len(), entry.path()));
            }
        }
        files.sort();
        let mut total_bytes: u64 = files.iter().map(|file| file.1).sum();
        for (_, bytes, path) in files {
            if total_bytes <= bytes_max {
                break;
            }
            fs::remove_file(path)?;
            total_bytes -= bytes;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    impl CachedFiles {
        /// Returns an empty folder of kept files, within a temporary one that removes it.
        pub(crate) fn in_test_folder() -> (tempfile::TempDir, Self) {
            let dir = tempfile::tempdir().expect("a folder");
            let files = Self {
                folder: dir.path().join("cache").join(RESULTS.folder),
                kind: &RESULTS,
            };
            (dir, files)
        }
    }

    #[test]
    fn what_is_written_is_private_and_comes_back() {
        let (_dir, files) = CachedFiles::in_test_folder();
        assert_eq!(files.read("a.kept"), None);
        files.write("a.kept", b"one");
        files.write("a.kept", b"two");
        assert_eq!(files.read("a.kept").as_deref(), Some(&b"two"[..]));
        let mode = |path: &Path| fs::metadata(path).expect("it is there").mode() & 0o777;
        assert_eq!(mode(&files.folder), 0o700);
        assert_eq!(mode(&files.folder.join("a.kept")), 0o600);
        let left = fs::read_dir(&files.folder).expect("a folder").count();
        assert_eq!(left, 1, "nothing but the file");
    }

    #[test]
    fn copies_are_private_and_stay() {
        let (dir, files) = CachedFiles::in_test_folder();
        let original = dir.path().join("program");
        fs::write(&original, b"one").expect("written");
        files.copy_from("id", &original);
        fs::write(&original, b"two").expect("written");
        files.copy_from("id", &original);
        assert_eq!(files.map("id").as_deref(), Some(&b"one"[..]));
        let copy = files.path_of("id");
        fs::set_permissions(&copy, Permissions::from_mode(0o666)).expect("it is ours");
        assert!(files.map("id").is_none());
    }

    /// A copy that was damaged is no copy, and the next one takes its place.
    #[test]
    fn damaged_files_are_absent_and_replaced() {
        let (dir, files) = CachedFiles::in_test_folder();
        let original = dir.path().join("program");
        fs::write(&original, b"one").expect("written");
        files.copy_from("id", &original);
        files.write("a.kept", b"one");
        for name in ["id", "a.kept"] {
            let path = files.path_of(name);
            let mut bytes = fs::read(&path).expect("it is ours");
            bytes[1] ^= 1;
            fs::write(&path, bytes).expect("it is ours");
            assert!(files.map(name).is_none() && files.read(name).is_none());
        }
        files.copy_from("id", &original);
        files.write("a.kept", b"one");
        for name in ["id", "a.kept"] {
            assert_eq!(files.map(name).as_deref(), Some(&b"one"[..]));
            assert_eq!(files.read(name).as_deref(), Some(&b"one"[..]));
        }
    }

    #[test]
    fn what_others_could_have_written_is_not_there() {
        let (_dir, files) = CachedFiles::in_test_folder();
        files.write("a.kept", b"one");
        let path = files.folder.join("a.kept");
        fs::set_permissions(&path, Permissions::from_mode(0o666)).expect("it is ours");
        assert_eq!(files.read("a.kept"), None);
        std::os::unix::fs::symlink("/etc/passwd", files.folder.join("b.kept")).expect("a link");
        assert_eq!(files.read("b.kept"), None);
        fs::set_permissions(&files.folder, Permissions::from_mode(0o777)).expect("it is ours");
        files.write("c.kept", b"three");
        assert!(!files.folder.join("c.kept").exists());
    }

    #[test]
    fn what_was_used_longest_ago_gives_way() {
        let (_dir, files) = CachedFiles::in_test_folder();
        for (n, name) in ["old", "used", "new"].iter().enumerate() {
            files.write(name, &[0; 100]);
            let file = fs::File::options()
                .write(true)
                .open(files.folder.join(name));
            let then = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(n as u64 * 60);
            file.and_then(|file| file.set_modified(then))
                .expect("it is ours");
        }
        files.read("old");
        files
            .evict_oldest(200 + 2 * SEAL_BYTES as u64)
            .expect("a folder");
        let left = |name| files.folder.join(name).exists();
        assert_eq!(["old", "used", "new"].map(left), [true, false, true]);
    }
}
