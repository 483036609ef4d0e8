//! Atomic writes, mapped files, ends of files and full names.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use memmap2::{Mmap, MmapMut};

use crate::file_error::{FileError, cannot};

/// Bytes that are read of a file that cannot be mapped: pipes and devices may have no end.
const READ_BYTES_MAX: u64 = 1 << 30;

/// Writes a file, and creates its folder if necessary. An older file at `path` stays until the new
/// one is complete.
///
/// # Errors
/// The folder cannot be created or written to.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(parent).map_err(cannot("create", parent))?;
    let write = || -> io::Result<()> {
        let mut partial = tempfile::Builder::new()
            // The permissions of any new file, less the user's mask.
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(parent)?;
        partial.write_all(bytes)?;
        partial.as_file().sync_all()?;
        partial.persist(path)?;
        Ok(())
    };
    write().map_err(cannot("write", path))
}

/// Returns the full name of a file with links followed; `path` itself if the file does not exist.
pub fn canonical_name(path: &Path) -> String {
    let full = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    full.display().to_string()
}

/// Maps a file to read it. A file that cannot be mapped, such as those in `/sys/kernel/btf`, is
/// read instead.
///
/// # Errors
/// The file cannot be opened or read, or is a folder.
pub fn map_file(path: &Path) -> io::Result<Mmap> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    // SAFETY: the map is only read. If another process truncates the file, this process ends, like
    // every tool that maps debug files.
    match unsafe { Mmap::map(&file) } {
        Ok(map) if !map.is_empty() => Ok(map),
        _ => {
            let mut bytes = Vec::new();
            file.take(READ_BYTES_MAX).read_to_end(&mut bytes)?;
            if bytes.len() as u64 == READ_BYTES_MAX {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            let mut map = MmapMut::map_anon(bytes.len())?;
            map.copy_from_slice(&bytes);
            map.make_read_only()
        }
    }
}

/// Returns the lines in the last `bytes_max` bytes of a file; none if it cannot be read.
pub fn last_lines(path: &Path, bytes_max: u64) -> Vec<String> {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let bytes = file.metadata()?.len();
        file.seek(SeekFrom::Start(bytes.saturating_sub(bytes_max)))?;
        let mut kept = Vec::new();
        file.take(bytes_max).read_to_end(&mut kept)?;
        Ok(kept)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    text.lines().map(str::to_owned).collect()
}
