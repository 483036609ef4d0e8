//! A debug file, mapped.

use std::fs::File;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use relayout_layout::dwarf::{DwarfFile, SectionStore};

use crate::Error;

/// An ELF file with debug information, mapped for as long as this lives.
pub struct DebugFile {
    path: PathBuf,
    map: Mmap,
    store: SectionStore,
}

impl DebugFile {
    /// Maps the file; nothing is read yet.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(Error::io("open", path))?;
        // SAFETY: relayout never writes to it; that another process cuts it short is accepted, as
        // for any mapped file.
        let map = unsafe { Mmap::map(&file) }.map_err(Error::io("map", path))?;
        Ok(Self { path: path.to_owned(), map, store: SectionStore::default() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Its debug information, indexed. Once per file.
    ///
    /// # Errors
    /// It is not an ELF file or has no usable debug information.
    pub fn dwarf(&self) -> Result<DwarfFile<'_>, Error> {
        DwarfFile::parse_in(&self.map, &self.store)
            .map_err(|source| Error::Debug { path: self.path.clone(), source })
    }
}

/// Lower-case hexadecimal, as build ids are written.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
