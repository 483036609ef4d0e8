//! What is kept from one run of the command to the next, to save time: files in a folder that only the
//! user can look into. Losing them costs nothing but that time, so that nothing here is an error: what
//! cannot be read is not there, and what cannot be written is not kept.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::CacheFolder;

/// Set to anything, nothing is kept and nothing that was kept is used.
const NO_CACHE_VARIABLE: &str = "RELAYOUT_NO_CACHE";
/// In the cache folder.
const FOLDER: &str = "resolved";
/// Most bytes of one file.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// Most bytes of all; the files that were used longest ago give way.
const ALL_BYTES_MAX: u64 = 256 << 20;

/// The folder.
#[derive(Clone, Debug)]
pub struct CachedFiles(PathBuf);

impl CachedFiles {
    /// In the user's cache folder. `None` without one, or with `$RELAYOUT_NO_CACHE`.
    pub fn locate() -> Option<Self> {
        if std::env::var_os(NO_CACHE_VARIABLE).is_some_and(|set| !set.is_empty()) {
            return None;
        }
        Some(Self(CacheFolder::locate()?.dir().join(FOLDER)))
    }

    /// The content of a file.
    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        let path = self.0.join(name);
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let mut options = OpenOptions::new();
        let file = options.read(true).custom_flags(flags).open(path).ok()?;
        let metadata = file.metadata().ok()?;
        if !metadata.is_file() || !is_private(&metadata) || metadata.len() > FILE_BYTES_MAX {
            return None;
        }
        let mut bytes = Vec::new();
        (&file).take(FILE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
        // It is in use: others give way first. On a file system that cannot be written to it is as it was.
        let _ = file.set_modified(SystemTime::now());
        Some(bytes)
    }

    /// Keeps a file in place of what has its name.
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
        let mut partial = tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o600))
            .tempfile_in(&self.0)?;
        partial.write_all(bytes)?;
        partial.persist(self.0.join(name))?;
        Ok(())
    }

    /// Removes what was used longest ago until the rest has at most `bytes_max`.
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

/// Whether it is the user's own, and nobody else can write to it.
fn is_private(metadata: &fs::Metadata) -> bool {
    // SAFETY: only asks.
    let user = unsafe { libc::geteuid() };
    metadata.uid() == user && metadata.mode() & 0o022 == 0
}

#[cfg(test)]
mod tests {
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
