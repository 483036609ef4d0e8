//! A debug file, mapped.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use memmap2::{Mmap, MmapMut};
use relayout_layout::dwarf::{DwarfFile, SectionStore};

use crate::Error;

/// Most bytes of what cannot be mapped: pipes and devices may have no end.
const READ_BYTES_MAX: u64 = 1 << 30;

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

/// Maps a file to read it; what cannot be mapped, as the files of `/sys/kernel/btf`, is read.
///
/// # Errors
/// It cannot be opened or read, or is a folder.
pub fn map_file(path: &Path) -> io::Result<Mmap> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    // SAFETY: the map is only read; that another process cuts the file short ends this one, as it
    // does every tool that maps debug files.
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
