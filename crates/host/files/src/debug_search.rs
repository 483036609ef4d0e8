//! Search of separate debug files, in the places that gdb searches.

use std::fs;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use relayout_layout::dwarf::{SplitUnit, SupplementaryLink};
use relayout_layout::links::{DebugLink, DebugLinks, build_id_text};
use relayout_temporary::parent_folder;

use crate::Error;
use crate::debuginfod::{DebuginfodClient, ServedFile};
use crate::files::map_named_elf;

/// Root folder into which distributions install debug files.
const INSTALLED_ROOT: &str = "/usr/lib/debug";

/// Places that are searched for debug files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebugPlaces {
    /// Root folders, laid out like `/usr/lib/debug`, in the order of search.
    pub folders: Vec<PathBuf>,
    /// Client of servers that are asked for what no folder has.
    pub client: Option<DebuginfodClient>,
}

impl Default for DebugPlaces {
    fn default() -> Self {
        Self {
            folders: vec![PathBuf::from(INSTALLED_ROOT)],
            client: None,
        }
    }
}

/// Finds and maps the file with the debug information of `path`. `None` if `path` has it itself,
/// names no debug file, or is not an ELF file.
///
/// # Errors
/// The file that `path` names is missing or of another build.
pub fn find_separate_file(
    path: &Path,
    bytes: &[u8],
    searched: &DebugPlaces,
) -> Result<Option<(PathBuf, Mmap)>, Error> {
    let Ok(links) = DebugLinks::read(bytes) else {
        return Ok(None);
    };
    let named = links.build_id.is_some() || links.debug_link.is_some();
    if links.has_types || !named {
        return Ok(None);
    }
    let mut missing = Vec::new();
    let mut other_builds = Vec::new();
    for (place, identity) in candidate_paths(path, &links, searched) {
        let Ok(map) = map_named_elf(&place) else {
            missing.push(place);
            continue;
        };
        // A file may name itself, if nothing was split off in the end.
        let found = DebugLinks::read(&map);
        if !found.is_ok_and(|found| found.has_types && identity.matches(&found, &map)) {
            other_builds.push(place);
            continue;
        }
        return Ok(Some((place, map)));
    }
    let served =
        { searched.client.as_ref().zip(links.build_id.as_ref()) }.and_then(|(client, build_id)| {
            client.fetch(ServedFile::DebugInfo, &build_id_text(build_id))
        });
    if let Some(found) = served {
        return Ok(Some(found));
    }
    Err(Error::NoDebugFile {
        missing,
        other_builds,
    })
}

/// Property by which a debug file is recognised as the right one.
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
    searched: &DebugPlaces,
) -> Vec<(PathBuf, DebugFileIdentity<'l>)> {
    let mut paths = Vec::new();
    if let Some(id) = &links.build_id {
        let by_id = searched
            .folders
            .iter()
            .filter_map(|root| build_id_path(root, id));
        paths.extend(by_id.map(|place| (place, DebugFileIdentity::BuildId(id))));
    }
    // A link names a file without its folder. One with a folder would lead anywhere.
    let plain = |link: &&DebugLink| !link.name.contains('/');
    if let Some(link) = links.debug_link.as_ref().filter(plain) {
        let by_name = debug_link_paths(path, link, searched).into_iter();
        paths.extend(by_name.map(|place| (place, DebugFileIdentity::Checksum(link.crc))));
    }
    paths
}

/// `ROOT/.build-id/ab/cdef.debug`.
fn build_id_path(root: &Path, id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = id.split_first()?;
    let (first, rest) = (build_id_text(&[*first]), build_id_text(rest));
    Some(root.join(format!(".build-id/{first}/{rest}.debug")))
}

fn debug_link_paths(path: &Path, link: &DebugLink, searched: &DebugPlaces) -> Vec<PathBuf> {
    let folder = parent_folder(path);
    let mut paths = vec![
        folder.join(&link.name),
        folder.join(".debug").join(&link.name),
    ];
    if let Ok(folder) = fs::canonicalize(folder) {
        let below = folder.strip_prefix("/").unwrap_or(&folder).to_owned();
        let roots = searched.folders.iter();
        paths.extend(roots.map(|root| root.join(&below).join(&link.name)));
    }
    paths
}

/// Candidate paths of the file into which `dwz` moved common types.
pub(crate) fn supplementary_paths(
    path: &Path,
    link: &SupplementaryLink,
    searched: &DebugPlaces,
) -> Vec<PathBuf> {
    let mut paths = vec![parent_folder(path).join(&link.name)];
    // `dwz` writes the path from the file itself, which may be reached by a symbolic link.
    let real = fs::canonicalize(path).ok();
    paths.extend(real.map(|real| parent_folder(&real).join(&link.name)));
    for root in &searched.folders {
        let own_name = Path::new(&link.name).file_name();
        paths.extend(own_name.map(|name| root.join(".dwz").join(name)));
        if let Ok(below) = Path::new(&link.name).strip_prefix(INSTALLED_ROOT) {
            paths.push(root.join(below));
        }
        paths.extend(build_id_path(root, &link.build_id));
    }
    paths
}

/// `PROGRAM.dwp`.
pub(crate) fn package_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".dwp");
    PathBuf::from(name)
}

/// Candidate paths of a `.dwo` file: the compiler's output, or the folder of the program.
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
