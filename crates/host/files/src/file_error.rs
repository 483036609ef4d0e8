//! The error of one file operation.

use std::io;
use std::path::{Path, PathBuf};

use relayout_messages::UserFacingError;

/// Failed operation on a file.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}", path.display())]
pub struct FileError {
    /// The operation: `read`, `write`.
    pub action: &'static str,
    /// The file.
    pub path: PathBuf,
    /// The system's error.
    #[source]
    pub source: io::Error,
}

impl UserFacingError for FileError {}

/// Makes a function for `map_err` that adds the operation and the path to an I/O error.
///
/// ```
/// use std::path::Path;
///
/// let path = Path::new("/no/such/file");
/// let error = std::fs::read(path).map_err(relayout_files::cannot("read", path)).unwrap_err();
/// assert_eq!(error.to_string(), "cannot read /no/such/file");
/// ```
pub fn cannot(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FileError {
    move |source| FileError {
        action,
        path: path.to_owned(),
        source,
    }
}
