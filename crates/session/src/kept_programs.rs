//! Copies of recorded programs, for when they are built again in the same place.

use std::path::{Path, PathBuf};

use memmap2::Mmap;
use relayout_files::{CachedFiles, DebugPlaces, ServedFile};
use relayout_layout::links::{DebugLinks, build_id_text};
use relayout_profile::ProfileMeta;

/// Folders of files that packages bring, and no build replaces.
const SYSTEM_FOLDERS: [&str; 4] = ["/usr/", "/lib/", "/lib64/", "/nix/"];

/// Keeps copies of the recorded program and of its libraries, but for those of the system. A kernel
/// stays where its package or build has it.
pub(crate) fn keep_programs(meta: &ProfileMeta) {
    let Some(cache) = CachedFiles::locate_programs().filter(|_| meta.target == "program") else {
        return;
    };
    let modules = { meta.runs.iter() }
        .flat_map(|run| &run.modules)
        .map(|module| (module.path.as_str(), module.build_id.as_str()));
    let program = (meta.debug_file.as_str(), meta.build_id.as_str());
    for (path, build_id) in modules.chain([program]) {
        let is_own = !SYSTEM_FOLDERS.iter().any(|folder| path.starts_with(folder));
        let path = Path::new(path);
        if is_own && is_build_id(build_id) && build_id_of_file(path).as_deref() == Some(build_id) {
            cache.copy_from(build_id, path);
        }
    }
}

/// Returns the program with this build id: the copy of a recorded one, else what a server has.
pub(crate) fn stored_program(build_id: &str, places: &DebugPlaces) -> Option<(PathBuf, Mmap)> {
    if !is_build_id(build_id) {
        return None;
    }
    let served = || { places.client.as_ref() }?.fetch(ServedFile::Executable, build_id);
    kept_program(build_id).or_else(served)
}

fn kept_program(build_id: &str) -> Option<(PathBuf, Mmap)> {
    let cache = CachedFiles::locate_programs()?;
    let kept = cache.map(build_id)?;
    (build_id_of_bytes(&kept).as_deref() == Some(build_id))
        .then(|| (cache.path_of(build_id), kept.into_sealed_map()))
}

/// Returns true for what can be the name of a file: a build id comes from the profile.
fn is_build_id(build_id: &str) -> bool {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    !build_id.is_empty() && build_id.bytes().all(is_hex)
}

/// Returns the build id of a file, lower-case hex; `None` if it has none or cannot be read.
pub fn build_id_of_file(path: &Path) -> Option<String> {
    build_id_of_bytes(&relayout_files::map_file(path).ok()?)
}

pub(crate) fn build_id_of_bytes(bytes: &[u8]) -> Option<String> {
    let id = DebugLinks::read(bytes).ok()?.build_id?;
    Some(build_id_text(&id))
}
