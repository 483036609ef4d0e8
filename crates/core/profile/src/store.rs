//! A profile as a folder on disk: `NAME/meta.json` and `NAME/*.parquet`.
//!
//! The rest of the crate takes and returns bytes. This file is the thin part that puts them on
//! disk, here because nobody should have to repeat how that is done safely: a folder of the name
//! asked for is a whole profile or is not there.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use relayout_messages::UserFacingError;
use relayout_temporary::{PARTIAL_PREFIX, TemporaryFolder, parent_folder, remove_abandoned};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::model::Profile;
use crate::parquet::{
    FormatError, META_FILE, ProfileFiles, declared_version, decode, decode_within, encode,
    file_names,
};

/// Treatment of an existing profile by [`write()`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Replace an existing profile. Anything else is never replaced.
    pub overwrite: bool,
}

/// Why a profile cannot be written to or read from a folder. Each names the path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The folder holds no usable profile, or the profile cannot be written as one.
    #[error("{}", path.display())]
    Format {
        /// Folder of the profile.
        path: PathBuf,
        /// Error in the profile.
        #[source]
        source: FormatError,
    },
    /// There is a profile already, and replacing it was not asked for.
    #[error("{} already exists", path.display())]
    Exists {
        /// The profile.
        path: PathBuf,
    },
    /// There is something else of that name, which is never replaced.
    #[error("{} exists and is not a relayout profile ({found}); {LEFT_ALONE}", path.display())]
    Occupied {
        /// Path that exists.
        path: PathBuf,
        /// Difference from a profile.
        found: String,
    },
    /// The path cannot be the name of a folder.
    #[error("{} does not name a folder", path.display())]
    NoName {
        /// The path.
        path: PathBuf,
    },
    /// The caller wants no profile any more.
    #[error("{} was not written: interrupted", path.display())]
    Aborted {
        /// The profile.
        path: PathBuf,
    },
    /// The system refused.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// Action that failed: `create`, `write`, ...
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
}

/// Consequence, at the end of a message.
const LEFT_ALONE: &str = "it is left alone";

impl Error {
    /// Returns the remedy, which stands behind the last semicolon of the message or of its source.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Format { source, .. } => source.remedy(),
            Self::Occupied { .. } => Some(LEFT_ALONE),
            _ => None,
        }
    }
}

impl UserFacingError for Error {
    fn user_remedy(&self) -> Option<String> {
        self.remedy().map(str::to_owned)
    }
}

/// Tells before a recording whether [`write()`] would refuse `dir` for its content: a recording
/// takes minutes.
///
/// # Errors
/// [`Error::Exists`], [`Error::Occupied`], [`Error::NoName`] or [`Error::Io`].
pub fn validate_target(dir: &Path, options: &WriteOptions) -> Result<(), Error> {
    if dir.file_name().is_none() {
        return Err(Error::NoName { path: dir.into() });
    }
    // A recording that fails from here on removes what a killed one left, too.
    remove_abandoned(parent_folder(dir), PARTIAL_PREFIX);
    may_replace(dir, *options).map(|_| ())
}

/// Writes `profile` as the folder `dir`, readable by the user alone.
///
/// It is written beside, as a [temporary folder](TemporaryFolder), synced to disk, and renamed:
/// `dir` is never half a profile. If anything fails, the partial folder is removed and `dir` is as
/// it was. The next profile in the same folder removes the partial folder of a killed process.
///
/// # Errors
/// [`Error::Exists`], [`Error::Occupied`], [`Error::NoName`], [`Error::Io`] (a full disk, a
/// read-only folder), or [`Error::Format`] for rows that contradict each other.
pub fn write(dir: &Path, profile: &Profile, options: &WriteOptions) -> Result<(), Error> {
    write_unless(dir, profile, options, &|| false)
}

/// The same as [`write()`], unless `is_aborted` returns true before the folder gets its name. It is
/// asked before each file.
///
/// # Errors
/// Those of [`write()`], and [`Error::Aborted`].
pub fn write_unless(
    dir: &Path,
    profile: &Profile,
    options: &WriteOptions,
    is_aborted: &dyn Fn() -> bool,
) -> Result<(), Error> {
    let go_on = || match is_aborted() {
        true => Err(Error::Aborted { path: dir.into() }),
        false => Ok(()),
    };
    let replace = may_replace(dir, *options)?;
    go_on()?;
    let files = encode(profile).map_err(|source| Error::Format {
        path: dir.into(),
        source,
    })?;
    let partial = write_partial(dir, &files, &go_on)?;
    go_on()?;
    let old = if replace {
        exchange_folders(&partial, dir)?
    } else {
        move_new(&partial, dir)?
    };
    if let Some(old) = old {
        fs::remove_dir_all(&old).map_err(|e| io_error("remove the old profile", &old, e))?;
    }
    sync_dir(parent_folder(dir))
}

/// Reads the profile in the folder `dir`.
///
/// # Errors
/// [`Error::Io`] if `dir` or a file in it cannot be read, [`Error::Format`] if it is not a profile,
/// is damaged, or is of a newer format.
pub fn read(dir: &Path) -> Result<Profile, Error> {
    read_decoded(dir, decode)
}

/// Reads the profile in the folder `dir`, if its rows take at most `rows_bytes_max` bytes of
/// memory.
///
/// # Errors
/// Those of [`read`].
pub fn read_within(dir: &Path, rows_bytes_max: u64) -> Result<Profile, Error> {
    read_decoded(dir, |files| decode_within(files, rows_bytes_max))
}

fn read_decoded(
    dir: &Path,
    decode: impl FnOnce(ProfileFiles) -> Result<Profile, FormatError>,
) -> Result<Profile, Error> {
    let format_error = |source| Error::Format {
        path: dir.into(),
        source,
    };
    let kind = fs::metadata(dir).map_err(|e| io_error("read", dir, e))?;
    if !kind.is_dir() {
        let reason = "it is not a folder".to_owned();
        return Err(format_error(FormatError::NotAProfile { reason }));
    }
    let mut files = ProfileFiles::new();
    for name in file_names() {
        if let Some(bytes) = read_file_if_there(&dir.join(&name))? {
            files.insert(name, bytes);
        }
    }
    decode(files).map_err(format_error)
}

/// Returns whether there is a profile to replace; an error if something else is there.
fn may_replace(dir: &Path, options: WriteOptions) -> Result<bool, Error> {
    match fs::symlink_metadata(dir) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(e) => return Err(io_error("look at", dir, e)),
        Ok(_) => {}
    }
    match foreign_content(dir)? {
        Some(found) => Err(Error::Occupied {
            path: dir.into(),
            found,
        }),
        None if options.overwrite => Ok(true),
        None => Err(Error::Exists { path: dir.into() }),
    }
}

/// Returns why an existing `dir` is no profile; `None` if it is a profile and holds nothing else.
fn foreign_content(dir: &Path) -> Result<Option<String>, Error> {
    let read_error = |e| io_error("read", dir, e);
    if !fs::symlink_metadata(dir).map_err(read_error)?.is_dir() {
        return Ok(Some("it is not a folder".to_owned()));
    }
    let Some(meta) = read_file_if_there(&dir.join(META_FILE))? else {
        return Ok(Some(format!("it has no {META_FILE}")));
    };
    if let Err(e) = declared_version(&meta) {
        return Ok(Some(e.to_string()));
    }
    for entry in fs::read_dir(dir).map_err(read_error)? {
        let name = entry.map_err(read_error)?.file_name();
        if !file_names().any(|ours| name == *ours) {
            return Ok(Some(format!("it holds {}", name.display())));
        }
    }
    Ok(None)
}

/// A temporary folder beside `dir` with `files` in it, synced. `go_on` is asked before each file.
fn write_partial(
    dir: &Path,
    files: &ProfileFiles,
    go_on: &dyn Fn() -> Result<(), Error>,
) -> Result<TemporaryFolder, Error> {
    let partial = TemporaryFolder::create(parent_folder(dir), PARTIAL_PREFIX)
        .map_err(|e| io_error("create", dir, e))?;
    for (name, bytes) in files {
        go_on()?;
        write_file(&partial.path().join(name), bytes)
            .map_err(|e| io_error("write", &dir.join(name), e))?;
    }
    sync_dir(partial.path())?;
    Ok(partial)
}

fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Renames `partial` to `dir`, where nothing may be.
fn move_new(partial: &TemporaryFolder, dir: &Path) -> Result<Option<PathBuf>, Error> {
    match renameat_with(CWD, partial.path(), CWD, dir, RenameFlags::NOREPLACE) {
        Err(rustix::io::Errno::EXIST) => Err(Error::Exists { path: dir.into() }),
        Err(e) if flags_unsupported(e) => fs::rename(partial.path(), dir)
            .map_err(|e| io_error("create", dir, e))
            .map(|()| None),
        done => done
            .map_err(|e| io_error("create", dir, e.into()))
            .map(|()| None),
    }
}

/// Exchanges `partial` and `dir`, in one step where the file system can; returns where the old one
/// is now.
fn exchange_folders(partial: &TemporaryFolder, dir: &Path) -> Result<Option<PathBuf>, Error> {
    match renameat_with(CWD, partial.path(), CWD, dir, RenameFlags::EXCHANGE) {
        Ok(()) => return Ok(Some(partial.path().into())),
        Err(e) if flags_unsupported(e) => {}
        Err(e) => return Err(io_error("replace", dir, e.into())),
    }
    let mut old = partial.path().as_os_str().to_owned();
    old.push(".old");
    let old = PathBuf::from(old);
    fs::rename(dir, &old).map_err(|e| io_error("replace", dir, e))?;
    if let Err(e) = fs::rename(partial.path(), dir) {
        fs::rename(&old, dir).map_err(|e| io_error("put back", dir, e))?;
        return Err(io_error("replace", dir, e));
    }
    Ok(Some(old))
}

fn flags_unsupported(error: rustix::io::Errno) -> bool {
    use rustix::io::Errno;
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::NOTSUP)
}

/// The contents of a regular file; `None` if there is no such file.
fn read_file_if_there(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    let read_error = |e| io_error("read", path, e);
    match fs::metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(read_error(e)),
        Ok(kind) if !kind.is_file() => {
            return Err(read_error(io::Error::other("it is not a regular file")));
        }
        Ok(_) => {}
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|mut file| file.read_to_end(&mut bytes))
        .map_err(read_error)?;
    Ok(Some(bytes))
}

fn sync_dir(dir: &Path) -> Result<(), Error> {
    File::open(dir)
        .and_then(|dir| dir.sync_all())
        .map_err(|e| io_error("sync", dir, e))
}

fn io_error(action: &'static str, path: &Path, source: io::Error) -> Error {
    Error::Io {
        action,
        path: path.into(),
        source,
    }
}
