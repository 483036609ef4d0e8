//! Index of type names of a debug file, kept from one run to the next.

use std::path::Path;

use crate::CachedFiles;
use crate::file_identity::{file_identity, fnv1a};
use crate::kept_seal::KeptMap;

/// Indexes of smaller files are made as fast as they are read.
const FILE_BYTES_MIN: u64 = 16 << 20;

/// Place of a file's kept index.
pub(crate) struct IndexPlace {
    files: CachedFiles,
    name: String,
    /// First bytes of the kept file, which name the debug file and this program.
    identity: String,
}

/// A kept index that is mapped.
pub(crate) struct MappedIndex {
    map: KeptMap,
    start: usize,
}

impl IndexPlace {
    /// Returns the place for the index of a large file; `None` if nothing is to be kept.
    pub(crate) fn for_file(path: &Path, bytes: u64) -> Option<Self> {
        if bytes < FILE_BYTES_MIN {
            return None;
        }
        let files = CachedFiles::locate()?;
        let program = file_identity(&std::env::current_exe().ok()?)?;
        let path = std::path::absolute(path).ok()?;
        let identity = format!("type names\n{}{program}", file_identity(&path)?);
        Some(Self {
            name: format!("{:016x}.names", fnv1a(identity.as_bytes())),
            files,
            identity,
        })
    }

    /// Maps the index, if it is there.
    pub(crate) fn map(&self) -> Option<MappedIndex> {
        let map = self.files.map(&self.name)?;
        let start = self.identity.len();
        map.starts_with(self.identity.as_bytes())
            .then_some(MappedIndex { map, start })
    }

    /// Keeps an index.
    pub(crate) fn keep(&self, index: &[u8]) {
        let bytes = [self.identity.as_bytes(), index].concat();
        self.files.write(&self.name, &bytes);
    }
}

impl MappedIndex {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.map[self.start..]
    }
}
