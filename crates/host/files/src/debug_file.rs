//! A file with debug information, mapped, and the files that it refers to.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use memmap2::{Mmap, MmapMut};
use relayout_layout::catalog::{CatalogInputs, DebugInfoFormat, TypeCatalog};
use relayout_layout::dwarf::{
    CompanionFiles, DwarfFile, SectionStore, SplitUnit, SupplementaryLink,
};

use crate::Error;
use crate::debug_search::{self, DebugFolders};
use crate::file_error::cannot;

/// Most bytes of what cannot be mapped: pipes and devices may have no end.
const READ_BYTES_MAX: u64 = 1 << 30;

/// An ELF file with debug information, mapped for as long as this lives, as are those that it
/// refers to (`.dwo`, `.dwp`, what `dwz` moved) once its types have been read.
pub struct DebugFile {
    /// The file that was asked for; the debug information may be in another.
    requested: PathBuf,
    path: PathBuf,
    map: Mmap,
    /// The file that was asked for, where `map` is another: it has the code.
    code_map: Option<Mmap>,
    sections: SectionStore,
    folders: DebugFolders,
    supplementary: OnceLock<Option<Mmap>>,
    package: OnceLock<Option<Mmap>>,
    split: OnceLock<Vec<Option<Mmap>>>,
}

impl DebugFile {
    /// Maps the file; nothing is read yet.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let map = map_file(path).map_err(cannot("open", path))?;
        Ok(Self::new(path, path, map, DebugFolders::default()))
    }

    /// The file at `path`, mapped already, or, where it has no debug information itself, the file
    /// that was split off it: by build id or by name (`.gnu_debuglink`), in `folders` and beside it.
    ///
    /// # Errors
    /// A debug file that it names is not there, or of another build.
    pub fn find(path: &Path, map: Mmap, folders: DebugFolders) -> Result<Self, Error> {
        Ok(
            match debug_search::find_separate_file(path, &map, &folders)? {
                Some((other, debug)) => Self {
                    code_map: Some(map),
                    ..Self::new(path, &other, debug, folders)
                },
                None => Self::new(path, path, map, folders),
            },
        )
    }

    /// The same, but where the debug file that `path` names is not there, it is `path` itself, of which
    /// at least symbols may be read.
    pub fn find_or_keep(path: &Path, map: Mmap, folders: DebugFolders) -> Self {
        match debug_search::find_separate_file(path, &map, &folders) {
            Ok(Some((other, debug))) => Self {
                code_map: Some(map),
                ..Self::new(path, &other, debug, folders)
            },
            Ok(None) | Err(_) => Self::new(path, path, map, folders),
        }
    }

    fn new(requested: &Path, path: &Path, map: Mmap, folders: DebugFolders) -> Self {
        Self {
            requested: requested.to_owned(),
            path: path.to_owned(),
            map,
            code_map: None,
            sections: SectionStore::default(),
            folders,
            supplementary: OnceLock::new(),
            package: OnceLock::new(),
            split: OnceLock::new(),
        }
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
        DwarfFile::parse_with_companions(&self.map, &self.sections, self).map_err(|source| {
            Error::Debug {
                path: self.path.clone(),
                source,
            }
        })
    }

    /// The same with the error as it is, and with the code of the file that was asked for, where the
    /// debug information was split off it.
    ///
    /// # Errors
    /// It is not an ELF file or has no usable debug information.
    pub fn dwarf_with_code(&self) -> Result<DwarfFile<'_>, relayout_layout::Error> {
        let debug = DwarfFile::parse_with_companions(&self.map, &self.sections, self)?;
        match &self.code_map {
            Some(code) => debug.with_code_of(code),
            None => Ok(debug),
        }
    }

    /// The symbols of the file that was asked for, and nothing else of it.
    ///
    /// # Errors
    /// It is not an ELF file.
    pub fn symbols(&self) -> Result<DwarfFile<'_>, relayout_layout::Error> {
        DwarfFile::symbols_only(self.code_map.as_ref().unwrap_or(&self.map))
    }

    /// Its types. Once per file. Split BTF, as of kernel modules, needs its `base`.
    ///
    /// # Errors
    /// It has no usable types.
    pub fn catalog<'a>(
        &'a self,
        format: DebugInfoFormat,
        base: Option<&'a Self>,
    ) -> Result<TypeCatalog<'a>, relayout_layout::Error> {
        let sources = CatalogInputs {
            store: &self.sections,
            companions: self,
            btf_base: base.map(Self::bytes),
        };
        TypeCatalog::parse_with_companions(&self.map, sources, format)
    }
}

impl CompanionFiles for DebugFile {
    fn supplementary(&self, link: &SupplementaryLink) -> Option<&[u8]> {
        let find = || {
            let paths = debug_search::supplementary_paths(&self.path, link, &self.folders);
            map_first(paths)
        };
        self.supplementary.get_or_init(find).as_deref()
    }

    fn package(&self) -> Option<&[u8]> {
        let find = || {
            map_first([&self.requested, &self.path].map(|path| debug_search::package_path(path)))
        };
        self.package.get_or_init(find).as_deref()
    }

    fn split_units(&self, wanted: &[SplitUnit]) -> Vec<Option<&[u8]>> {
        let find =
            |unit: &SplitUnit| map_first(debug_search::split_unit_paths(&self.requested, unit));
        let maps = self.split.get_or_init(|| wanted.iter().map(find).collect());
        maps.iter().map(Option::as_deref).collect()
    }
}

/// The first of the places where there is a file.
fn map_first(paths: impl IntoIterator<Item = PathBuf>) -> Option<Mmap> {
    paths.into_iter().find_map(|path| map_file(&path).ok())
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
