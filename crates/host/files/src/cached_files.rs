//! Results kept from one run of the command to the next, in a folder that only the user can read.
//!
//! Their loss costs only time. So no function here fails: a file that cannot be read counts as
//! absent, and a file that cannot be written is not kept.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use relayout_temporary::{PARTIAL_PREFIX, TemporaryFile};
use rustix::fs::OFlags;

use crate::CacheFolder;
use crate::trust::is_private;

/// Variable that switches the cache off if it is set and not empty.
const NO_CACHE_VARIABLE: &str = "RELAYOUT_NO_CACHE";
/// Name of the folder within the cache folder.
const FOLDER: &str = "resolved";
/// Bytes of the largest file that is kept.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// Bytes of all files together; beyond them, the least recently used files are removed.
const ALL_BYTES_MAX: u64 = 256 << 20;

/// The folder of cached results.
#[derive(Clone, Debug)]
pub struct CachedFiles(PathBuf);

impl CachedFiles {
    /// Finds the folder within the user's cache folder. `None` without a cache folder, or with
    /// `$RELAYOUT_NO_CACHE`.
    pub fn locate() -> Option<Self> {
        if std::env::var_os(NO_CACHE_VARIABLE).is_some_and(|set| !set.is_empty()) {
            return None;
        }
        Some(Self(CacheFolder::locate()?.dir().join(FOLDER)))
    }

    /// Path of the folder.
    pub(crate) fn dir(&self) -> &Path {
        &self.0
    }

    /// Returns the content of a file.
    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        let path = self.0.join(name);
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let mut options = OpenOptions::new();
        let file = options
            .read(true)
            .custom_flags(flags.bits() as i32)
            .open(path)
            .ok()?;
        let metadata = file.metadata().ok()?;
        if !metadata.is_file() || !is_private(&metadata) || metadata.len() > FILE_BYTES_MAX {
            return None;
        }
        let mut bytes = Vec::new();
        (&file).take(FILE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
        // Marks the file as used. Fails on a read-only file system, which does no harm.
        let _ = file.set_modified(SystemTime::now());
        Some(bytes)
    }

    /// Keeps a file; replaces one of the same name.
    pub fn write(&self, name: &str, bytes: &[u8]) {
        if bytes.len() as u64 <= FILE_BYTES_MAX && self.try_write(name, bytes).is_ok() {
            let _ = self.evict_oldest(ALL_BYTES_MAX);
        }
    }

    fn try_write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let parent = self.0.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(parent)?;
        match DirBuilder::new().mode(0o700).create(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => other?,
        }
        if !is_private(&fs::symlink_metadata(&self.0)?) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let partial = TemporaryFile::create(&self.0, PARTIAL_PREFIX, 0o600)?;
        partial.as_file().write_all(bytes)?;
        partial.rename_to(&self.0.join(name))
    }

    /// Removes the least recently used files until the rest has at most `bytes_max`.
    fn evict_oldest(&self, bytes_max: u64) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.0)? {
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

    fn folder() -> (tempfile::TempDir, CachedFiles) {
        let dir = tempfile::tempdir().expect("a folder");
        let files = CachedFiles(dir.path().join("cache").join(FOLDER));
        (dir, files)
    }

    #[test]
    fn what_is_written_is_private_and_comes_back() {
        let (_dir, files) = folder();
        assert_eq!(files.read("a.kept"), None);
        files.write("a.kept", b"one");
        files.write("a.kept", b"two");
        assert_eq!(files.read("a.kept").as_deref(), Some(&b"two"[..]));
        let mode = |path: &Path| fs::metadata(path).expect("it is there").mode() & 0o777;
        assert_eq!(mode(&files.0), 0o700);
        assert_eq!(mode(&files.0.join("a.kept")), 0o600);
        let left = fs::read_dir(&files.0).expect("a folder").count();
        assert_eq!(left, 1, "nothing but the file");
    }

    #[test]
    fn what_others_could_have_written_is_not_there() {
        let (_dir, files) = folder();
        files.write("a.kept", b"one");
        let path = files.0.join("a.kept");
        fs::set_permissions(&path, Permissions::from_mode(0o666)).expect("it is ours");
        assert_eq!(files.read("a.kept"), None);
        std::os::unix::fs::symlink("/etc/passwd", files.0.join("b.kept")).expect("a link");
        assert_eq!(files.read("b.kept"), None);
        fs::set_permissions(&files.0, Permissions::from_mode(0o777)).expect("it is ours");
        files.write("c.kept", b"three");
        assert!(!files.0.join("c.kept").exists());
    }

    #[test]
    fn what_was_used_longest_ago_gives_way() {
        let (_dir, files) = folder();
        for (n, name) in ["old", "used", "new"].iter().enumerate() {
            files.write(name, &[0; 100]);
            let file = fs::File::options().write(true).open(files.0.join(name));
            let then = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(n as u64 * 60);
            file.and_then(|file| file.set_modified(then))
                .expect("it is ours");
        }
        files.read("old");
        files.evict_oldest(200).expect("a folder");
        let left = |name| files.0.join(name).exists();
        assert_eq!(["old", "used", "new"].map(left), [true, false, true]);
    }
}
