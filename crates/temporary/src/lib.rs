//! Temporary files and folders that do not outlive their process for long.
//!
//! Each is removed when it is dropped. A process that is killed drops nothing, so each is also
//! locked (`flock`), and the system drops the lock with the process. Whoever makes the next one
//! with the same prefix in the same folder first removes those whose lock is free. The lock needs
//! no process number, so it also holds between containers that share a folder.
//!
//! Removed are only files and folders, not links, that this user owns, whose name is the prefix and
//! [`RANDOM_CHARACTERS`] letters and digits, and whose lock this process could take.
//!
//! ```
//! use relayout_temporary::TemporaryFolder;
//!
//! # fn main() -> std::io::Result<()> {
//! let folder = TemporaryFolder::create(&std::env::temp_dir(), "example-")?;
//! let path = folder.path().to_owned();
//! assert!(path.is_dir());
//! drop(folder);
//! assert!(!path.exists());
//! # Ok(())
//! # }
//! ```

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use tempfile::{Builder, NamedTempFile, TempDir};

/// Prefix of files and folders that take their final names when they are complete.
pub const PARTIAL_PREFIX: &str = ".relayout-partial-";
/// Prefix of folders for the work of one process.
pub const WORK_PREFIX: &str = "relayout-work-";
/// Letters and digits at the end of each name.
pub const RANDOM_CHARACTERS: usize = 10;
/// Part of the names that no process can lock. They match no pattern of removal.
const UNLOCKED: &str = "unlocked-";
/// Names that are tried when another process removes each before it is locked.
const ATTEMPTS_MAX: u32 = 32;

/// A folder that only this user can read.
#[derive(Debug)]
pub struct TemporaryFolder {
    // Goes before its lock does.
    dir: TempDir,
    _lock: File,
}

impl TemporaryFolder {
    /// Creates a folder in `parent`. Removes the folders and files of this prefix that killed
    /// processes left there.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn create(parent: &Path, prefix: &str) -> io::Result<Self> {
        create_locked(parent, prefix, |prefix| {
            let dir = Builder::new()
                .prefix(prefix)
                .rand_bytes(RANDOM_CHARACTERS)
                .permissions(Permissions::from_mode(0o700))
                .tempdir_in(parent)?;
            let lock = open_unfollowed(dir.path())?;
            let state = lock_state(&lock, dir.path())?;
            Ok((Self { dir, _lock: lock }, state))
        })
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Renames the folder to `path`, where nothing or an empty folder may be.
    ///
    /// # Errors
    /// The system refuses. The folder is removed then.
    pub fn rename_to(self, path: &Path) -> io::Result<()> {
        fs::rename(self.dir.path(), path)?;
        let _ = self.dir.keep();
        Ok(())
    }
}

/// A file that takes its final name when it is complete.
#[derive(Debug)]
pub struct TemporaryFile(NamedTempFile);

impl TemporaryFile {
    /// Creates a file in `parent`, with the permissions `mode` less the user's mask. Removes the
    /// files and folders of this prefix that killed processes left there.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create(parent: &Path, prefix: &str, mode: u32) -> io::Result<Self> {
        create_locked(parent, prefix, |prefix| {
            let file = Builder::new()
                .prefix(prefix)
                .rand_bytes(RANDOM_CHARACTERS)
                .permissions(Permissions::from_mode(mode))
                .tempfile_in(parent)?;
            let state = lock_state(file.as_file(), file.path())?;
            Ok((Self(file), state))
        })
    }

    /// The open file.
    pub fn as_file(&self) -> &File {
        self.0.as_file()
    }

    /// Renames the file to `path`, and replaces a file that is there.
    ///
    /// # Errors
    /// The system refuses. The file is removed then.
    pub fn rename_to(self, path: &Path) -> io::Result<()> {
        self.0.persist(path)?;
        Ok(())
    }
}

/// State of a new file's lock.
enum LockState {
    Held,
    /// Another process took the new file for one that was left behind.
    Lost,
    /// The file system has no locks, so nobody can prove that the owner is dead.
    Unsupported,
}

fn create_locked<T>(
    parent: &Path,
    prefix: &str,
    create: impl Fn(&str) -> io::Result<(T, LockState)>,
) -> io::Result<T> {
    remove_abandoned(parent, prefix);
    for _ in 0..ATTEMPTS_MAX {
        match create(prefix) {
            Ok((created, LockState::Held)) => return Ok(created),
            Ok((_, LockState::Lost)) => {}
            Ok((_, LockState::Unsupported)) => {
                return Ok(create(&format!("{prefix}{UNLOCKED}"))?.0);
            }
            // Removed before it could be opened. It is not the parent that is missing.
            Err(error) if error.kind() == io::ErrorKind::NotFound && parent.is_dir() => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::ResourceBusy.into())
}

fn lock_state(file: &File, path: &Path) -> io::Result<LockState> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        // It may have been removed just before.
        Ok(()) if is_at(file, path) => Ok(LockState::Held),
        Ok(()) | Err(Errno::WOULDBLOCK) => Ok(LockState::Lost),
        Err(_) => Ok(LockState::Unsupported),
    }
}

/// Removes the files and folders in `parent` that killed processes left there. Those that cannot be
/// removed stay.
pub fn remove_abandoned(parent: &Path, prefix: &str) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if has_temporary_name(&entry.file_name(), prefix) {
            let _ = remove_if_abandoned(&entry.path());
        }
    }
}

fn has_temporary_name(name: &OsStr, prefix: &str) -> bool {
    let random = name.as_bytes().strip_prefix(prefix.as_bytes());
    random.is_some_and(|random| {
        random.len() == RANDOM_CHARACTERS && random.iter().all(u8::is_ascii_alphanumeric)
    })
}

fn remove_if_abandoned(path: &Path) -> io::Result<()> {
    let is_own = |found: &Metadata| {
        let user = rustix::process::geteuid().as_raw();
        (found.is_dir() || found.is_file()) && found.uid() == user
    };
    if !is_own(&fs::symlink_metadata(path)?) {
        return Ok(());
    }
    let file = open_unfollowed(path)?;
    let found = file.metadata()?;
    let locked = flock(&file, FlockOperation::NonBlockingLockExclusive);
    if !is_own(&found) || locked.is_err() || !is_at(&file, path) {
        return Ok(());
    }
    match found.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    }
}

/// Opens a file or folder, but neither follows a link nor waits for the other end of a pipe.
fn open_unfollowed(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits() as i32);
    options.open(path)
}

/// Returns true if `path` still names the open file.
fn is_at(file: &File, path: &Path) -> bool {
    let identity = |found: &Metadata| (found.dev(), found.ino());
    let (open, named) = (file.metadata(), fs::symlink_metadata(path));
    matches!((&open, &named), (Ok(open), Ok(named)) if identity(open) == identity(named))
}

/// Path of the folder in which `path` is.
pub fn parent_folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
