//! The debug file that goes with a profile.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use memmap2::Mmap;
use relayout_layout::dwarf::{DwarfFile, SectionStore};
use relayout_profile::Meta;

/// Input that does not go together; exit code 2.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The profile names no debug file and none was given.
    #[error(
        "the profile does not say which debug file it was recorded with; give one with --debug FILE"
    )]
    NoDebugFile,
    /// The debug file cannot be read.
    #[error(
        "cannot read the debug file {}; give the {what} with build id {build_id} with --debug FILE",
        path.display()
    )]
    DebugFile {
        /// The file.
        path: PathBuf,
        /// `vmlinux` or `program`.
        what: &'static str,
        /// Of the recording.
        build_id: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The debug file is of another build.
    #[error(
        "{} is of another build than the recording: its build id is {found}, the recording's \
         {expected}; give the {what} of the recorded build with --debug FILE",
        path.display()
    )]
    BuildId {
        /// The file.
        path: PathBuf,
        /// `vmlinux` or `program`.
        what: &'static str,
        /// Of the file.
        found: String,
        /// Of the recording.
        expected: String,
    },
}

/// Opens the debug file at `given`, or else the one that `meta` was recorded with, checks that it
/// is of the recorded build, and calls `then` with it.
///
/// # Errors
/// [`Error`], a file that has no usable debug information, and those of `then`.
pub fn with<T>(
    given: Option<&Path>,
    meta: &Meta,
    then: impl FnOnce(&DwarfFile<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let path = debug_path(given, meta)?;
    let bytes = map(&path, meta)?;
    let store = SectionStore::default();
    let debug = DwarfFile::parse_in(&bytes, &store)
        .with_context(|| format!("cannot read the debug information of {}", path.display()))?;
    check_build_id(&path, &debug, meta)?;
    then(&debug)
}

fn debug_path(given: Option<&Path>, meta: &Meta) -> Result<PathBuf, Error> {
    match (given, meta.debug_file.as_str()) {
        (Some(path), _) => Ok(path.to_owned()),
        (None, "") => Err(Error::NoDebugFile),
        (None, recorded) => Ok(PathBuf::from(recorded)),
    }
}

fn map(path: &Path, meta: &Meta) -> Result<Mmap, Error> {
    let failed = |source| Error::DebugFile {
        path: path.to_owned(),
        what: what(meta),
        build_id: meta.build_id.clone(),
        source,
    };
    relayout_host::map_file(path).map_err(failed)
}

fn what(meta: &Meta) -> &'static str {
    if meta.target == "kernel" {
        "vmlinux"
    } else {
        "program"
    }
}

fn check_build_id(path: &Path, debug: &DwarfFile<'_>, meta: &Meta) -> Result<(), Error> {
    if meta.build_id.is_empty() {
        return Ok(());
    }
    let found = debug.build_id_text().unwrap_or_default();
    if found.eq_ignore_ascii_case(&meta.build_id) {
        return Ok(());
    }
    Err(Error::BuildId {
        path: path.to_owned(),
        what: what(meta),
        found: if found.is_empty() {
            "missing".to_owned()
        } else {
            found
        },
        expected: meta.build_id.clone(),
    })
}
