//! That a file could not be read or written.

use std::io;
use std::path::{Path, PathBuf};

/// A file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}", path.display())]
pub struct FileError {
    /// What was tried.
    pub action: &'static str,
    /// The file.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub source: io::Error,
}

/// For `map_err`: `action` could not be done with the file at `path`.
pub(crate) fn cannot(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FileError {
    move |source| FileError {
        action,
        path: path.to_owned(),
        source,
    }
}
