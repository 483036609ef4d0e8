//! A debug file, mapped.

use std::fs::File;
use std::io;
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
        let map = map_file(path).map_err(Error::io("open", path))?;
        Ok(Self {
            path: path.to_owned(),
            map,
            store: SectionStore::default(),
        })
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
        DwarfFile::parse_in(&self.map, &self.store).map_err(|source| Error::Debug {
            path: self.path.clone(),
            source,
        })
    }
}

/// Maps a file to read it.
///
/// # Errors
/// It cannot be opened, or is a folder.
pub fn map_file(path: &Path) -> io::Result<Mmap> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    // SAFETY: the map is only read; that another process cuts the file short ends this one, as it
    // does every tool that maps debug files.
    unsafe { Mmap::map(&file) }
}
