//! Where separate debug information is: the places that gdb looks in.

use std::fs;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use relayout_layout::dwarf::{SplitUnit, SupplementaryLink};
use relayout_layout::links::{DebugLink, DebugLinks};

use crate::Error;
use crate::debug_file::map_file;

/// Where distributions install debug files.
const INSTALLED_ROOT: &str = "/usr/lib/debug";

/// Folders laid out as `/usr/lib/debug` is, in order of search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebugFolders(pub Vec<PathBuf>);

impl Default for DebugFolders {
    fn default() -> Self {
        Self(vec![PathBuf::from(INSTALLED_ROOT)])
    }
}

/// The file that has the debug information of `path`; `None` where it is in `path` itself, or
/// `path` names no other.
///
/// # Errors
/// It names one that is not there, or of another build. What is no ELF file is no concern here.
pub(crate) fn find_separate_file(
    path: &Path,
    bytes: &[u8],
    folders: &DebugFolders,
) -> Result<Option<(PathBuf, Mmap)>, Error> {
    let Ok(links) = DebugLinks::read(bytes) else {
        return Ok(None);
    };
    let named = links.build_id.is_some() || links.debug_link.is_some();
    if links.has_types || !named {
        return Ok(None);
    }
    let mut looked = Vec::new();
    let mut other = Vec::new();
    for (place, identity) in candidate_paths(path, &links, folders) {
        let Ok(map) = map_file(&place) else {
            looked.push(place);
            continue;
        };
        // A file may be linked from itself, where nothing was split off in the end.
        let found = DebugLinks::read(&map);
        if !found.is_ok_and(|found| found.has_types && identity.matches(&found, &map)) {
            other.push(place);
            continue;
        }
        return Ok(Some((place, map)));
    }
    Err(Error::NoDebugFile { looked, other })
}

/// How a debug file is known to be the right one.
enum DebugFileIdentity<'l> {
    BuildId(&'l [u8]),
    Checksum(u32),
}

impl DebugFileIdentity<'_> {
    fn matches(&self, found: &DebugLinks, bytes: &[u8]) -> bool {
        match self {
            Self::BuildId(id) => found.build_id.as_deref() == Some(id),
            Self::Checksum(sum) => crc32fast::hash(bytes) == *sum,
        }
    }
}

fn candidate_paths<'l>(
    path: &Path,
    links: &'l DebugLinks,
    folders: &DebugFolders,
) -> Vec<(PathBuf, DebugFileIdentity<'l>)> {
    let mut places = Vec::new();
    if let Some(id) = &links.build_id {
        let by_id = folders.0.iter().filter_map(|root| build_id_path(root, id));
        places.extend(by_id.map(|place| (place, DebugFileIdentity::BuildId(id))));
    }
    if let Some(link) = &links.debug_link {
        let by_name = debug_link_paths(path, link, folders).into_iter();
        places.extend(by_name.map(|place| (place, DebugFileIdentity::Checksum(link.crc))));
    }
    places
}

/// `ROOT/.build-id/ab/cdef.debug`.
fn build_id_path(root: &Path, id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = id.split_first()?;
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(root.join(format!(".build-id/{first:02x}/{rest}.debug")))
}

fn debug_link_paths(path: &Path, link: &DebugLink, folders: &DebugFolders) -> Vec<PathBuf> {
    let folder = parent_folder(path);
    let mut places = vec![
        folder.join(&link.name),
        folder.join(".debug").join(&link.name),
    ];
    if let Ok(folder) = fs::canonicalize(folder) {
        let below = folder.strip_prefix("/").unwrap_or(&folder).to_owned();
        let roots = folders.0.iter();
        places.extend(roots.map(|root| root.join(&below).join(&link.name)));
    }
    places
}

/// Where the file that `dwz` moved common types to may be.
pub(crate) fn supplementary_paths(
    path: &Path,
    link: &SupplementaryLink,
    folders: &DebugFolders,
) -> Vec<PathBuf> {
    let mut places = vec![parent_folder(path).join(&link.name)];
    for root in &folders.0 {
        if let Ok(below) = Path::new(&link.name).strip_prefix(INSTALLED_ROOT) {
            places.push(root.join(below));
        }
        places.extend(build_id_path(root, &link.build_id));
    }
    places
}

/// `PROGRAM.dwp`.
pub(crate) fn package_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".dwp");
    PathBuf::from(name)
}

/// Where a `.dwo` file may be: where the compiler put it, or beside the program it went into.
pub(crate) fn split_unit_paths(path: &Path, unit: &SplitUnit) -> Vec<PathBuf> {
    let folder = parent_folder(path);
    let mut places = vec![PathBuf::from(unit.path()), folder.join(&unit.name)];
    places.extend(
        Path::new(&unit.name)
            .file_name()
            .map(|name| folder.join(name)),
    );
    places
}

fn parent_folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}
