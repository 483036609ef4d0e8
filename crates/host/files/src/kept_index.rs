//! Index of type names of a debug file, kept from one run to the next.

use std::path::Path;

use serde::Serialize;

use crate::cached_values::{CachedRequest, CachedValues, MappedValue};
use crate::file_identity::file_identity;

/// Indexes of smaller files are made as fast as they are read.
const FILE_BYTES_MIN: u64 = 16 << 20;

/// Place of a file's kept index.
pub(crate) struct IndexPlace {
    values: CachedValues,
    request: TypeNamesRequest,
}

/// The debug file whose type names are indexed, and the program that does so.
#[derive(Serialize)]
struct TypeNamesRequest {
    file: String,
    program: String,
}

impl CachedRequest for TypeNamesRequest {
    const KIND: &'static str = "names";
}

impl IndexPlace {
    /// Returns the place for the index of a large file; `None` if nothing is to be kept.
    pub(crate) fn for_file(path: &Path, bytes: u64) -> Option<Self> {
        if bytes < FILE_BYTES_MIN {
            return None;
        }
        let path = std::path::absolute(path).ok()?;
        Some(Self {
            values: CachedValues::locate()?,
            request: TypeNamesRequest {
                file: file_identity(&path)?,
                program: file_identity(&std::env::current_exe().ok()?)?,
            },
        })
    }

    /// Maps the index, if it is there.
    pub(crate) fn map(&self) -> Option<MappedValue> {
        self.values.map(&self.request)
    }

    /// Keeps an index.
    pub(crate) fn keep(&self, index: &[u8]) {
        self.values.keep(&self.request, index);
    }
}
