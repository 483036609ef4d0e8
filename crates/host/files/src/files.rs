//! Atomic writes, mapped files, ends of files and full names.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use memmap2::{Mmap, MmapMut};
use relayout_temporary::{PARTIAL_PREFIX, TemporaryFile, parent_folder};

use crate::file_error::{FileError, cannot};
use crate::regular_files::{open_regular, require_own, require_replaceable};

/// Bytes that are read of a file that cannot be mapped: a pipe may have no end.
const READ_BYTES_MAX: u64 = 1 << 30;
/// First bytes of an ELF file.
const ELF_MAGIC: &[u8] = b"\x7fELF";
/// Permissions of any new file, less the user's mask.
const FILE_MODE: u32 = 0o666;
/// Permissions of a new program, less the user's mask.
const PROGRAM_MODE: u32 = 0o777;

/// Writes a file, and creates its folder if necessary. An older file at `path` stays until the new
/// one is complete. A link is followed.
///
/// # Errors
/// The folder cannot be created or written to, or `path` exists and is no regular file.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    write_with_mode(path, bytes, FILE_MODE)
}

/// Like [`write_atomically`], for a file that is a program.
///
/// # Errors
/// Those of [`write_atomically`].
pub fn write_program_atomically(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    write_with_mode(path, bytes, PROGRAM_MODE)
}

fn write_with_mode(path: &Path, bytes: &[u8], mode: u32) -> Result<(), FileError> {
    require_replaceable(path).map_err(cannot("write", path))?;
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let path = &*target;
    let parent = parent_folder(path);
    fs::create_dir_all(parent).map_err(cannot("create", parent))?;
    let write = || -> io::Result<()> {
        let partial = TemporaryFile::create(parent, PARTIAL_PREFIX, mode)?;
        partial.as_file().write_all(bytes)?;
        partial.as_file().sync_all()?;
        partial.rename_to(path)
    };
    write().map_err(cannot("write", path))
}

/// Writes the files of a folder of outputs, and creates the folder if necessary. All are written
/// before the first takes its name, so a full disk leaves the older ones as they were. A link in
/// the folder is not followed.
///
/// # Errors
/// The folder cannot be created or written to, or a name in it is of a link or of no regular file.
pub fn write_files(folder: &Path, files: &[(&Path, &[u8])]) -> Result<(), FileError> {
    fs::create_dir_all(folder).map_err(cannot("create", folder))?;
    let mut partials = Vec::new();
    for (name, bytes) in files {
        let path = folder.join(name);
        require_own(&path).map_err(cannot("write", &path))?;
        let write = || -> io::Result<TemporaryFile> {
            let partial = TemporaryFile::create(folder, PARTIAL_PREFIX, FILE_MODE)?;
            partial.as_file().write_all(bytes)?;
            partial.as_file().sync_all()?;
            Ok(partial)
        };
        partials.push((write().map_err(cannot("write", &path))?, path));
    }
    for (partial, path) in partials {
        partial.rename_to(&path).map_err(cannot("write", &path))?;
    }
    Ok(())
}

/// Returns the full name of a file with links followed; `path` itself if the file does not exist.
pub fn canonical_name(path: &Path) -> String {
    let full = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    full.display().to_string()
}

/// Maps an ELF file that another file names: the debug file of a profile, or the part that was split
/// off a program. Whoever wrote that name may have meant harm, so that only a regular file is opened,
/// and only an ELF file is read further than its first bytes.
///
/// # Errors
/// The file cannot be opened, is not a regular file, or is not an ELF file.
pub fn map_named_elf(path: &Path) -> io::Result<Mmap> {
    let refuse = |reason: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    let file = open_regular(path)?;
    // Pipes and files of /proc have no length, and reading some of them waits.
    if file.metadata()?.len() == 0 {
        return refuse("it is empty");
    }
    // SAFETY: as in `map_file`.
    let map = unsafe { Mmap::map(&file) }?;
    if !map.starts_with(ELF_MAGIC) {
        return refuse("it is not an ELF file");
    }
    Ok(map)
}

/// Maps a regular file to read it. A file that cannot be mapped, such as those in
/// `/sys/kernel/btf`, and a pipe that is open already, are read instead.
///
/// # Errors
/// The file cannot be opened or read, or is no regular file.
pub fn map_file(path: &Path) -> io::Result<Mmap> {
    let file = open_regular(path)?;
    // SAFETY: the map is only read. If another process truncates the file, this process ends
    // (`catch_truncation`).
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
