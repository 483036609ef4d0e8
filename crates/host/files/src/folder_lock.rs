//! Locks of folders in which one process works at a time, and starts others.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::{FileError, cannot};

/// Time after which nothing is left of what a killed process had started: a watch asks it to end, and
/// a second later kills it.
const ORPHANS_END: Duration = Duration::from_millis(1500);

/// Lock of a folder. The system drops it with the process.
#[derive(Debug)]
pub struct FolderLock(File);

impl FolderLock {
    /// Locks the file at `path`; `None` while another process has it. If the last one that had it was
    /// killed, what it had started may still write: waits until that has ended.
    ///
    /// # Errors
    /// The file cannot be created or locked.
    pub fn acquire(path: &Path) -> Result<Option<Self>, FileError> {
        let mut options = OpenOptions::new();
        let mut file = { options.write(true).create(true).truncate(false).open(path) }
            .map_err(cannot("create", path))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(None),
            Err(error) => return Err(cannot("lock", path)(error.into())),
        }
        let was_killed = file.metadata().map_err(cannot("read", path))?.len() > 0;
        if was_killed {
            thread::sleep(ORPHANS_END);
        }
        file.write_all(b"held\n").map_err(cannot("write", path))?;
        Ok(Some(Self(file)))
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        let _ = self.0.set_len(0);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_killed_process_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let lock = FolderLock::acquire(&path).unwrap().unwrap();
        assert!(FolderLock::acquire(&path).unwrap().is_none());
        drop(lock);
        let begun = Instant::now();
        let lock = FolderLock::acquire(&path).unwrap();
        assert!(begun.elapsed() < ORPHANS_END);
        drop(lock);
        // As a killed process leaves it.
        std::fs::write(&path, "held\n").unwrap();
        let begun = Instant::now();
        assert!(FolderLock::acquire(&path).unwrap().is_some());
        assert!(begun.elapsed() >= ORPHANS_END);
    }
}
