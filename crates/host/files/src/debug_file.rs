//! Mapped files with debug information, and the files that they refer to.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use memmap2::Mmap;
use relayout_layout::catalog::{CatalogInputs, DebugInfoFormat, TypeCatalog};
use relayout_layout::dwarf::{
    CompanionFiles, DwarfFile, SectionStore, SplitUnit, SupplementaryLink,
};
use relayout_layout::links::DebugLinks;

use crate::Error;
use crate::cached_values::MappedValue;
use crate::debug_search::{self, DebugPlaces};
use crate::file_error::cannot;
use crate::files::{map_file, map_named_elf};
use crate::kept_index::IndexPlace;

/// A mapped ELF file with debug information, and the files that it refers to (`.dwo`, `.dwp`, the
/// supplementary file of `dwz`), which are mapped when its types are read.
///
/// ```no_run
/// # fn main() -> Result<(), relayout_files::Error> {
/// let file = relayout_files::DebugFile::open("vmlinux".as_ref())?;
/// let symbols = file.dwarf()?.symbols().len();
/// # Ok(())
/// # }
/// ```
pub struct DebugFile {
    /// The file that the caller named. The debug information may be in another file.
    requested: PathBuf,
    path: PathBuf,
    map: Mmap,
    /// The file that the caller named, which has the code, if `map` is another file.
    code_map: Option<Mmap>,
    sections: SectionStore,
    places: DebugPlaces,
    supplementary: OnceLock<Option<Mmap>>,
    package: OnceLock<Option<Mmap>>,
    split: OnceLock<Vec<Option<Mmap>>>,
    type_index: OnceLock<Option<MappedValue>>,
}

impl DebugFile {
    /// Maps the file. Nothing is read yet.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let map = map_file(path).map_err(cannot("open", path))?;
        Ok(Self::new(path, path, map, DebugPlaces::default()))
    }

    /// Takes the mapped file at `path`. If it has no debug information, searches `places` and the
    /// file's own folder for the separate debug file, by build id and by name (`.gnu_debuglink`).
    ///
    /// # Errors
    /// The file names a debug file that is missing or of another build.
    pub fn find(path: &Path, map: Mmap, places: DebugPlaces) -> Result<Self, Error> {
        Ok(
            match debug_search::find_separate_file(path, &map, &places)? {
                Some((other, debug)) => Self {
                    code_map: Some(map),
                    ..Self::new(path, &other, debug, places)
                },
                None => Self::new(path, path, map, places),
            },
        )
    }

    /// Like [`find`](Self::find), but keeps the file at `path` if its debug file is missing: its
    /// symbols may still be readable.
    pub fn find_or_keep(path: &Path, map: Mmap, places: DebugPlaces) -> Self {
        match debug_search::find_separate_file(path, &map, &places) {
            Ok(Some((other, debug))) => Self {
                code_map: Some(map),
                ..Self::new(path, &other, debug, places)
            },
            Ok(None) | Err(_) => Self::new(path, path, map, places),
        }
    }

    fn new(requested: &Path, path: &Path, map: Mmap, places: DebugPlaces) -> Self {
        Self {
            requested: requested.to_owned(),
            path: path.to_owned(),
            map,
            code_map: None,
            sections: SectionStore::default(),
            places,
            supplementary: OnceLock::new(),
            package: OnceLock::new(),
            split: OnceLock::new(),
            type_index: OnceLock::new(),
        }
    }

    /// Path of the file with the debug information.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of the file with the debug information.
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Indexes the debug information. To be called once per file.
    ///
    /// # Errors
    /// The file is not an ELF file, or has no usable debug information.
    pub fn dwarf(&self) -> Result<DwarfFile<'_>, Error> {
        DwarfFile::parse_with_companions(&self.map, &self.sections, self).map_err(|source| {
            Error::Debug {
                path: self.path.clone(),
                source,
            }
        })
    }

    /// Like [`dwarf`](Self::dwarf), but with the decoder's own error, and with the code of the file
    /// that the caller named if the debug information was split off.
    ///
    /// # Errors
    /// The file is not an ELF file, or has no usable debug information.
    pub fn dwarf_with_code(&self) -> Result<DwarfFile<'_>, relayout_layout::Error> {
        let debug = DwarfFile::parse_with_companions(&self.map, &self.sections, self)?;
        match &self.code_map {
            Some(code) => debug.with_code_of(code),
            None => Ok(debug),
        }
    }

    /// Reads only the symbols of the file that the caller named.
    ///
    /// # Errors
    /// The file is not an ELF file.
    pub fn symbols(&self) -> Result<DwarfFile<'_>, relayout_layout::Error> {
        DwarfFile::symbols_only(self.code_map.as_ref().unwrap_or(&self.map))
    }

    /// Indexes the types. To be called once per file. Split BTF, as in kernel modules, needs its
    /// `base`.
    ///
    /// # Errors
    /// The file has no usable types.
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

impl DebugFile {
    fn index_place(&self) -> Option<IndexPlace> {
        IndexPlace::for_file(&self.path, self.map.len() as u64)
    }
}

impl CompanionFiles for DebugFile {
    fn type_index(&self) -> Option<&[u8]> {
        let find = || self.index_place()?.map();
        let found = self.type_index.get_or_init(find).as_ref();
        found.map(MappedValue::bytes)
    }

    fn keep_type_index(&self, write: &dyn Fn() -> Vec<u8>) {
        if let Some(place) = self.index_place() {
            place.keep(&write());
        }
    }

    fn supplementary(&self, link: &SupplementaryLink) -> Option<&[u8]> {
        let find = || {
            let paths = debug_search::supplementary_paths(&self.path, link, &self.places);
            map_with_build_id(paths, &link.build_id)
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

/// Maps the first of the paths that has the build id; else the first that exists, whose id the
/// reader refuses.
fn map_with_build_id(paths: Vec<PathBuf>, build_id: &[u8]) -> Option<Mmap> {
    let has_id = |map: &Mmap| {
        DebugLinks::read(map).is_ok_and(|links| links.build_id.as_deref() == Some(build_id))
    };
    let mut first = None;
    for path in paths {
        let Ok(map) = map_named_elf(&path) else {
            continue;
        };
        if has_id(&map) {
            return Some(map);
        }
        first = first.or(Some(map));
    }
    first
}

/// Maps the first of the paths that exists.
fn map_first(paths: impl IntoIterator<Item = PathBuf>) -> Option<Mmap> {
    paths.into_iter().find_map(|path| map_named_elf(&path).ok())
}
