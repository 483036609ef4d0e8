//! The debug files that belong to a profile: those of the kernel and its modules, or of the program and
//! its libraries.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use relayout_files::{DebugFile, DebugPlaces};
use relayout_layout::dwarf::{DwarfFile, SectionStore};
use relayout_layout::kernel_module::link_module;
use relayout_layout::word_lists::word_list;
use relayout_messages::{RecordingProgress, UserError};
use relayout_profile::{LoadedModule, Profile, ProfileMeta};
use relayout_resolve::{DebugImages, modules_used};

use crate::kept_programs::{build_id_of_bytes, build_id_of_file, stored_program};
use crate::type_files::debug_places;

/// Libraries without debug information that a warning names.
const LIBRARIES_NAMED_MAX: usize = 4;

/// Opens the debug files that belong to `profile` and calls `then` with them.
///
/// A file of `given_files` replaces the one with its build id; a file whose build id no library has
/// is the kernel's or the program's. Other files are read from the path in the profile, or from
/// where debug packages put the split-off part. Warnings name libraries without debug information.
///
/// A path in the profile may lead anywhere, because anybody may have written the profile. The file
/// there must be a regular ELF file of the build id that the profile has. If the profile has none, the
/// file must belong to the user or to root, and a warning names it.
///
/// # Errors
/// A file of the kernel or program has no usable debug information; and those of `then`.
pub fn with_debug_images<T, E: From<UserError>>(
    given_files: &[PathBuf],
    profile: &Profile,
    progress: &dyn RecordingProgress,
    then: impl FnOnce(&DebugImages<'_, '_>) -> Result<T, E>,
) -> Result<T, E> {
    let meta = &profile.meta;
    let modules = modules_used(profile);
    let mut unused_files = given_files.to_vec();
    let chosen: Vec<PathBuf> = modules
        .iter()
        .map(|module| take_by_build_id(&mut unused_files, &module.build_id))
        .map(Option::unwrap_or_default)
        .collect();
    let given = unused_files.first().map(PathBuf::as_path);
    let path = debug_path(given, meta)?;
    let mut unproven = UnprovenFiles::default();
    let places = debug_places()?;
    if places.client.is_some() {
        progress.step("looking for debug information, also on the servers of $DEBUGINFOD_URLS");
    }
    let main_file = open_main_file(&path, given.is_some(), meta, &places, &mut unproven)?;
    let library_files: Vec<Option<DebugFile>> = modules
        .iter()
        .zip(&chosen)
        .map(|(module, chosen)| open_library(module, chosen, &places, &mut unproven))
        .collect();
    unproven.warn(progress);
    let main_debug = read_main_file(&path, &main_file, meta, progress)?;
    let linked_modules: Vec<Option<LinkedModule>> = match meta.target == "kernel" {
        true => LinkedModule::link_all(&library_files, &main_debug),
        false => library_files.iter().map(|_| None).collect(),
    };
    let library_debug: Vec<Option<DwarfFile<'_>>> = { modules.iter() }
        .zip(&library_files)
        .zip(&linked_modules)
        .map(|((module, file), linked)| match linked {
            Some(linked) => linked.read(module),
            None => read_library(module, file.as_ref()?),
        })
        .collect();
    let mut library_notes = LibraryNotes::default();
    for (module, file) in modules.iter().zip(&library_debug) {
        library_notes.add(module, file.as_ref(), progress);
    }
    library_notes.warn(modules.len(), progress);
    let images = DebugImages::from_modules(profile, &main_debug, |module| {
        let is_same = |other: &LoadedModule| {
            (&other.path, &other.build_id) == (&module.path, &module.build_id)
        };
        library_debug
            .get(modules.iter().position(is_same)?)?
            .as_ref()
    });
    then(&images)
}

/// Removes the file with the build id from `given`.
fn take_by_build_id(given: &mut Vec<PathBuf>, build_id: &str) -> Option<PathBuf> {
    let has_id = |path: &PathBuf| {
        !build_id.is_empty() && build_id_of_file(path).as_deref() == Some(build_id)
    };
    let index = given.iter().position(has_id)?;
    Some(given.remove(index))
}

fn debug_path(given: Option<&Path>, meta: &ProfileMeta) -> Result<PathBuf, UserError> {
    match (given, meta.debug_file.as_str()) {
        (Some(path), _) => Ok(path.to_owned()),
        (None, "") => Err(UserError::input(
            "the profile does not say which debug file it was recorded with",
        )
        .with_remedy("give one with --debug FILE")),
        (None, recorded) => Ok(PathBuf::from(recorded)),
    }
}

/// Returns the file with the debug information of the kernel or program: of `given_files` the first
/// with its build id, or the first one, and else the one that the profile names.
///
/// # Errors
/// The file cannot be read, or is of another build.
pub fn main_debug_path(given_files: &[PathBuf], meta: &ProfileMeta) -> Result<PathBuf, UserError> {
    let mut files = given_files.to_vec();
    let own = take_by_build_id(&mut files, &meta.build_id).or_else(|| files.first().cloned());
    let path = debug_path(own.as_deref(), meta)?;
    let mut unproven = UnprovenFiles::default();
    let file = open_main_file(&path, own.is_some(), meta, &debug_places()?, &mut unproven)?;
    Ok(file.path().to_owned())
}

fn open_main_file(
    path: &Path,
    is_given: bool,
    meta: &ProfileMeta,
    places: &DebugPlaces,
    unproven: &mut UnprovenFiles,
) -> Result<DebugFile, UserError> {
    let unreadable = |cause: io::Error| {
        let (kind, build_id) = (main_file_kind(meta), &meta.build_id);
        UserError::input(format!("cannot read the debug file {}", path.display()))
            .with_remedy(format!(
                "give the {kind} with build id {build_id} with --debug FILE"
            ))
            .caused_by(cause)
    };
    if is_given {
        let map = relayout_files::map_file(path).map_err(unreadable)?;
        return Ok(DebugFile::find_or_keep(path, map, places.clone()));
    }
    let named = relayout_files::map_named_elf(path);
    let found = named.as_ref().ok().and_then(|map| build_id_of_bytes(map));
    if found.as_ref() != Some(&meta.build_id)
        && let Some((copy, map)) = stored_program(&meta.build_id, places)
    {
        return Ok(DebugFile::find_or_keep(&copy, map, places.clone()));
    }
    let map = named.map_err(unreadable)?;
    match NamedFileProof::find(path, &map, &meta.build_id) {
        NamedFileProof::SameBuild => {}
        NamedFileProof::NoBuildId => unproven.0.push(path.to_owned()),
        NamedFileProof::OtherBuild { found } => return Err(other_build(path, found, meta)),
        NamedFileProof::ForeignOwner => {
            let message = format!(
                "the profile names the debug file {} without a build id, and the file belongs to another user",
                path.display()
            );
            let kind = main_file_kind(meta);
            let remedy = format!("if it is the recorded {kind}, give it with --debug");
            return Err(UserError::input(message).with_remedy(remedy));
        }
    }
    Ok(DebugFile::find_or_keep(path, map, places.clone()))
}

/// Reason for reading, or for not reading, a file that a profile names.
enum NamedFileProof {
    /// The file has the build id that the profile has.
    SameBuild,
    /// The profile has no build id. The file belongs to the user or to root.
    NoBuildId,
    /// The file has another build id, or none (empty).
    OtherBuild { found: String },
    /// The profile has no build id, and the file belongs to another user.
    ForeignOwner,
}

impl NamedFileProof {
    fn find(path: &Path, bytes: &[u8], build_id: &str) -> Self {
        if build_id.is_empty() {
            return match relayout_files::is_owned_by_user_or_root(path) {
                true => Self::NoBuildId,
                false => Self::ForeignOwner,
            };
        }
        let found = build_id_of_bytes(bytes).unwrap_or_default();
        match found.eq_ignore_ascii_case(build_id) {
            true => Self::SameBuild,
            false => Self::OtherBuild { found },
        }
    }
}

/// Files that are read because of their path in the profile alone.
#[derive(Default)]
struct UnprovenFiles(Vec<PathBuf>);

impl UnprovenFiles {
    fn warn(&self, progress: &dyn RecordingProgress) {
        if self.0.is_empty() {
            return;
        }
        let named = self.0.iter().map(|path| path.display().to_string());
        progress.warn(&format!(
            "the profile names {}, but no build id that would tell whether that is what was recorded; \
             name the file with --debug if it is not",
            word_list(&named.collect::<Vec<_>>(), LIBRARIES_NAMED_MAX)
        ));
    }
}

fn read_main_file<'a>(
    path: &Path,
    file: &'a DebugFile,
    meta: &ProfileMeta,
    progress: &dyn RecordingProgress,
) -> Result<DwarfFile<'a>, UserError> {
    let (debug, is_symbols_only) = match file.dwarf_with_code() {
        Err(source) if lacks_debug_info(&source) && meta.target != "kernel" => {
            (file.symbols(), true)
        }
        result => (result, false),
    };
    let debug = debug.map_err(UserError::wrap(format!(
        "cannot read the debug information of {}",
        file.path().display()
    )))?;
    verify_build_id(path, &debug, meta)?;
    if is_symbols_only {
        progress.warn(&format!(
            "{} has no debug information: its variables are known by their symbols only and its \
             types are unknown; build it with -g and record again, or give its debug file with --debug",
            path.display()
        ));
    }
    Ok(debug)
}

/// True if the file is intact and only lacks debug information.
fn lacks_debug_info(error: &relayout_layout::Error) -> bool {
    use relayout_layout::Error;
    matches!(
        error,
        Error::NoDebugInfo | Error::NoDwarf | Error::NothingButMissing(_)
    )
}

fn open_library(
    module: &LoadedModule,
    chosen: &Path,
    places: &DebugPlaces,
    unproven: &mut UnprovenFiles,
) -> Option<DebugFile> {
    if !chosen.as_os_str().is_empty() {
        let map = relayout_files::map_file(chosen).ok()?;
        return Some(DebugFile::find_or_keep(chosen, map, places.clone()));
    }
    let path = Path::new(&module.path);
    let kept_copy = || {
        let (copy, map) = stored_program(&module.build_id, places)?;
        Some(DebugFile::find_or_keep(&copy, map, places.clone()))
    };
    let Ok(map) = relayout_files::map_named_elf(path) else {
        return kept_copy();
    };
    match NamedFileProof::find(path, &map, &module.build_id) {
        NamedFileProof::SameBuild => {}
        NamedFileProof::NoBuildId => unproven.0.push(path.to_owned()),
        NamedFileProof::OtherBuild { .. } => return kept_copy(),
        NamedFileProof::ForeignOwner => return None,
    }
    Some(DebugFile::find_or_keep(path, map, places.clone()))
}

/// Returns the debug information of a library, or else its symbols; `None` if it is of another
/// build.
fn read_library<'a>(module: &LoadedModule, file: &'a DebugFile) -> Option<DwarfFile<'a>> {
    let debug = file.dwarf_with_code().or_else(|_| file.symbols()).ok()?;
    is_recorded_build(module, &debug).then_some(debug)
}

fn is_recorded_build(module: &LoadedModule, debug: &DwarfFile<'_>) -> bool {
    let is_other = |id: String| !module.build_id.is_empty() && id != module.build_id;
    !debug.build_id_text().is_some_and(is_other)
}

/// Module of a kernel, linked against the kernel.
struct LinkedModule {
    bytes: Vec<u8>,
    sections: SectionStore,
}

impl LinkedModule {
    /// Links each file; `None` for those that are no modules.
    fn link_all(files: &[Option<DebugFile>], kernel: &DwarfFile<'_>) -> Vec<Option<Self>> {
        let used = files.iter().any(Option::is_some);
        let symbols = kernel.symbols().iter().filter(|_| used);
        let addresses: HashMap<&str, u64> = symbols.map(|s| (s.name, s.address)).collect();
        let link = |file: &Option<DebugFile>| {
            let address = |name: &str| addresses.get(name).copied();
            let bytes = link_module(file.as_ref()?.bytes(), &address).ok()?;
            Some(Self {
                bytes,
                sections: SectionStore::default(),
            })
        };
        files.iter().map(link).collect()
    }

    fn read(&self, module: &LoadedModule) -> Option<DwarfFile<'_>> {
        let debug = DwarfFile::parse_with_store(&self.bytes, &self.sections).ok()?;
        is_recorded_build(module, &debug).then_some(debug)
    }
}

/// Libraries for a warning.
#[derive(Default)]
struct LibraryNotes {
    without_debug_info: Vec<String>,
}

impl LibraryNotes {
    fn add(
        &mut self,
        module: &LoadedModule,
        file: Option<&DwarfFile<'_>>,
        progress: &dyn RecordingProgress,
    ) {
        let name = module.path.rsplit('/').next().unwrap_or(&module.path);
        match file {
            Some(file) if file.has_debug_info() => {}
            Some(_) => self.without_debug_info.push(name.to_owned()),
            None => progress.warn(&format!(
                "{} is missing, of another build, or (without a build id) another user's: nothing in it \
                 is named; give the recorded one with --debug FILE",
                module.path
            )),
        }
    }

    fn warn(&self, library_count: usize, progress: &dyn RecordingProgress) {
        let count = self.without_debug_info.len();
        if count == 0 {
            return;
        }
        progress.warn(&format!(
            "{count} of {library_count} libraries or modules without debug information ({}): only their \
             symbols are known; install their debug packages (-dbgsym, debuginfo)",
            word_list(&self.without_debug_info, LIBRARIES_NAMED_MAX)
        ));
    }
}

fn main_file_kind(meta: &ProfileMeta) -> &'static str {
    if meta.target == "kernel" {
        "vmlinux"
    } else {
        "program"
    }
}

fn verify_build_id(
    path: &Path,
    debug: &DwarfFile<'_>,
    meta: &ProfileMeta,
) -> Result<(), UserError> {
    if meta.build_id.is_empty() {
        return Ok(());
    }
    let found = debug.build_id_text().unwrap_or_default();
    if found.eq_ignore_ascii_case(&meta.build_id) {
        return Ok(());
    }
    Err(other_build(path, found, meta))
}

fn other_build(path: &Path, found: String, meta: &ProfileMeta) -> UserError {
    let found = match found.as_str() {
        "" => "missing",
        found => found,
    };
    let (kind, expected) = (main_file_kind(meta), &meta.build_id);
    UserError::input(format!(
        "{} is of another build than the recording: its build id is {found}, the recording's {expected}",
        path.display()
    ))
    .with_remedy(format!("give the {kind} of the recorded build with --debug FILE"))
}
