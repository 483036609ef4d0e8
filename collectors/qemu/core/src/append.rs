//! Files to which code inside QEMU appends.
//!
//! If QEMU runs a single program, the two share one table of descriptors. The program may close the
//! plugin's (daemons close all there are) and open its own file under that number. So the plugin's
//! descriptors have high numbers and are verified before each write.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Write};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Distance of the descriptors' numbers from the limit.
const BELOW_LIMIT: u64 = 128;
/// Highest limit that is used, since the kernel's table of descriptors grows with the highest
/// number.
const LIMIT_MAX: u64 = 1 << 16;

/// File of the recording folder.
pub struct AppendFile {
    path: PathBuf,
    /// Other code in this process may close the file.
    guarded: bool,
    opened: Mutex<Option<OpenedFile>>,
}

struct OpenedFile {
    file: File,
    /// Device and inode of the file.
    identity: (u64, u64),
}

impl AppendFile {
    /// Creates a file for QEMU alone.
    pub fn create(path: PathBuf) -> io::Result<Self> {
        let file = open_append(&path, true)?;
        Ok(Self {
            path,
            guarded: false,
            opened: Mutex::new(Some(OpenedFile::new(file)?)),
        })
    }

    /// Prepares a file in a process that QEMU shares with a program. The first append creates it.
    pub fn guarded(path: PathBuf) -> Self {
        Self {
            path,
            guarded: true,
            opened: Mutex::default(),
        }
    }

    /// Creates the file if it does not exist yet.
    pub fn create_now(&self) -> io::Result<()> {
        self.append(&[], &[])
    }

    /// Appends `head` and `rest`.
    pub fn append(&self, head: &[u8], rest: &[u8]) -> io::Result<()> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if self.guarded {
            self.reopen(&mut opened)?;
        }
        match &mut *opened {
            Some(opened) => write_parts(&mut opened.file, head, rest),
            None => Ok(()),
        }
    }

    fn reopen(&self, opened: &mut Option<OpenedFile>) -> io::Result<()> {
        let first = opened.is_none();
        if let Some(old) = opened.take() {
            if old.is_ours() {
                *opened = Some(old);
                return Ok(());
            }
            // The number belongs to the program now, or to nobody, so it is not closed.
            let _ = old.file.into_raw_fd();
        }
        *opened = Some(OpenedFile::new(move_to_high_number(open_append(
            &self.path, first,
        )?))?);
        Ok(())
    }

    /// Returns a file that appends to `file`.
    #[cfg(test)]
    pub fn from_file(file: File) -> Self {
        Self {
            path: PathBuf::new(),
            guarded: false,
            opened: Mutex::new(OpenedFile::new(file).ok()),
        }
    }
}

impl OpenedFile {
    fn new(file: File) -> io::Result<Self> {
        let data = file.metadata()?;
        Ok(Self {
            identity: (data.dev(), data.ino()),
            file,
        })
    }

    fn is_ours(&self) -> bool {
        let data = self.file.metadata();
        data.is_ok_and(|data| (data.dev(), data.ino()) == self.identity)
    }
}

fn open_append(path: &PathBuf, new: bool) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create_new(new)
        .mode(0o600)
        .open(path)
}

/// Moves the file to a high number if there is one.
fn move_to_high_number(file: File) -> File {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the kernel writes to `limit` only, and nobody else owns the new descriptor.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        let from = limit.rlim_cur.min(LIMIT_MAX).saturating_sub(BELOW_LIMIT);
        let number = libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, from as libc::c_int);
        if number >= 0 {
            File::from_raw_fd(number)
        } else {
            file
        }
    }
}

fn write_parts(file: &mut File, head: &[u8], rest: &[u8]) -> io::Result<()> {
    let written = loop {
        match file.write_vectored(&[IoSlice::new(head), IoSlice::new(rest)]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            written => break written?,
        }
    };
    match written.checked_sub(head.len()) {
        Some(done) => file.write_all(&rest[done..]),
        None => {
            file.write_all(&head[written..])?;
            file.write_all(rest)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn number(file: &AppendFile) -> libc::c_int {
        let opened = file.opened.lock().unwrap();
        opened.as_ref().unwrap().file.as_raw_fd()
    }

    #[test]
    fn a_guarded_file_is_made_when_needed_and_numbered_high() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let file = AppendFile::guarded(path.clone());
        assert!(!path.exists());
        file.append(b"head ", b"rest").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"head rest");
        assert!(number(&file) >= 100);
        let taken = AppendFile::guarded(path);
        let error = taken.append(b"x", b"").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    }

    /// Does what a daemon does: closes all descriptors, and opens files of its own.
    #[test]
    fn a_file_that_was_closed_and_replaced_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("a"), dir.path().join("b"));
        let file = AppendFile::guarded(path.clone());
        file.append(b"1", b"").unwrap();
        let theirs = File::create(&other).unwrap();
        // SAFETY: the descriptor is replaced by another open one, which nobody else uses.
        unsafe { libc::dup2(theirs.as_raw_fd(), number(&file)) };
        file.append(b"2", b"").unwrap();
        // SAFETY: as above; `append` verifies the descriptor before it writes.
        unsafe { libc::close(number(&file)) };
        file.append(b"3", b"").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"123");
        assert!(fs::read(&other).unwrap().is_empty());
    }
}
